#include "waybill/sqlite/publish.hpp"

#include <utility>

#include "caller.hpp"
#include "calls.hpp"
#include "core/complete.hpp"
#include "core/runtime/system_random.hpp"
#include "core/wording.hpp"
#include "waybill/append.hpp"
#include "waybill/system.hpp"

namespace waybill::sqlite {
struct Publisher::Parts {
    Parts(sqlite3* db, const PublishOptions& the_options) : session(db), options(the_options) {}

    void check_connection() {
        Database& db = session.db;
        if (!options.outside_transaction && !db.in_transaction()) {
            throw StoreError{Reaction::give_up,
                             "publish: no transaction is open on this connection, so the message "
                             "would not share the fate of anything; BEGIN first, or set "
                             "outside_transaction"};
        }
        prepare_caller(db, options.relaxed_durability, "publish");
    }

    const BoxRow& box_of(const std::string& name) {
        if (const BoxRow* row = session.box(name)) return *row;
        throw InvalidMessage{
            {"box: " + detail::in_quotes(name) +
             " is not a box of this file; the application that handles it declares "
             "it when it starts"}};
    }

    std::string only_box() {
        Rows rows = session.db.query(sql::two_boxes);
        const std::string name = rows.next() ? rows.string(0) : "";
        if (!name.empty() && !rows.next()) return name;
        throw InvalidMessage{{name.empty()
                                  ? "box: this file has none; the application that handles "
                                    "messages declares them when it starts"
                                  : "box: this file has several; say which one"}};
    }

    Append prepare(Message message) {
        if (message.box.empty()) message.box = only_box();
        const BoxRow& box = box_of(message.box);
        const BoxOptions asked{.dedup_window = box.dedup_window,
                               .body_bytes_max = box.body_bytes_max};
        return complete(std::move(message), asked, system_clock(), thread_random());
    }

    std::vector<AppendResult> store(std::span<const Append> items) {
        Savepoint savepoint{session.db};
        auto results = append(session, system_clock().wall(), items);
        savepoint.keep();
        return results;
    }

    Session session;
    const PublishOptions options;
};

Publisher::Publisher(sqlite3* db, const PublishOptions& options)
    : parts_(std::make_unique<Parts>(db, options)) {}

Publisher::~Publisher() = default;

AppendResult Publisher::publish(Message message) {
    parts_->check_connection();
    const Append item = parts_->prepare(std::move(message));
    return parts_->store({&item, 1}).front();
}

std::vector<AppendResult> Publisher::publish(std::span<const Message> messages) {
    parts_->check_connection();
    std::vector<Append> items;
    items.reserve(messages.size());
    for (const Message& message : messages) items.push_back(parts_->prepare(message));
    return items.empty() ? std::vector<AppendResult>{} : parts_->store(items);
}

AppendResult publish(sqlite3* db, Message message, const PublishOptions& options) {
    return Publisher{db, options}.publish(std::move(message));
}

std::vector<AppendResult> publish(sqlite3* db, std::span<const Message> messages,
                                  const PublishOptions& options) {
    return Publisher{db, options}.publish(messages);
}

}  // namespace waybill::sqlite
