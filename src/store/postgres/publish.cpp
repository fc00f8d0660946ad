#include "waybill/postgres/publish.hpp"

#include <utility>

#include "calls.hpp"
#include "core/complete.hpp"
#include "core/runtime/system_random.hpp"
#include "core/wording.hpp"
#include "waybill/append.hpp"
#include "waybill/postgres.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {
namespace {

/// What is kept or undone together inside a transaction that is not ours.
class Savepoint {
public:
    explicit Savepoint(Database& db) : db_(db) {
        db_.script("savepoint waybill_publish", "publish");
    }
    ~Savepoint() {
        if (is_kept_) return;
        try {
            db_.script("rollback to waybill_publish; release waybill_publish", "publish");
        } catch (const StoreError&) {
            // The caller's ROLLBACK will do it; the error in flight says why.
        }
    }
    Savepoint(const Savepoint&) = delete;
    Savepoint& operator=(const Savepoint&) = delete;

    void keep() {
        db_.script("release waybill_publish", "publish");
        is_kept_ = true;
    }

private:
    Database& db_;
    bool is_kept_ = false;
};

[[noreturn]] void refuse(const std::string& why) {
    throw StoreError{Reaction::give_up, "publish: " + why};
}

std::string checked_schema(const PublishOptions& options) {
    if (Problems problems = check(Options{.schema = options.schema}); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
    return options.schema;
}

}  // namespace

struct Publisher::Parts {
    Parts(PGconn* connection, const PublishOptions& the_options)
        : db(connection, checked_schema(the_options)), options(the_options) {}

    void check_connection() {
        if (PQpipelineStatus(db.handle()) != PQ_PIPELINE_OFF) {
            refuse("the connection is in pipeline mode; leave it for this call");
        }
        switch (PQtransactionStatus(db.handle())) {
            case PQTRANS_INTRANS: break;
            case PQTRANS_IDLE:
                if (options.outside_transaction) break;
                refuse(
                    "no transaction is open on this connection, so the message would not share "
                    "the fate of anything; BEGIN first, or set outside_transaction");
            case PQTRANS_INERROR:
                refuse("a statement of this transaction has failed, so it can only be rolled back");
            default: refuse("the connection is closed, or another statement runs on it");
        }
        Rows rows = db.read(sql::commit_waits);
        if (!options.relaxed_durability && !(rows.next() && rows.flag(0))) {
            refuse(
                "synchronous_commit of this session is off, so a crash may lose the commit; "
                "turn it on, or set relaxed_durability");
        }
    }

    const BoxRow& box_of(const std::string& name) {
        if (const BoxRow* row = boxes.box(db, name)) return *row;
        throw InvalidMessage{
            {"box: " + detail::in_quotes(name) +
             " is not a box of this store; the application that handles it declares it when it "
             "starts"}};
    }

    std::string only_box() {
        Rows rows = db.read(sql::two_boxes);
        if (rows.count() == 1 && rows.next()) return rows.string(0);
        throw InvalidMessage{{rows.count() == 0
                                  ? "box: this store has none; the application that handles "
                                    "messages declares them when it starts"
                                  : "box: this store has several; say which one"}};
    }

    Append prepare(Message message) {
        if (message.box.empty()) message.box = only_box();
        const BoxRow& box = box_of(message.box);
        const BoxOptions asked{.dedup_window = box.dedup_window,
                               .body_bytes_max = box.body_bytes_max};
        return complete(std::move(message), asked, system_clock(), thread_random());
    }

    std::vector<AppendResult> store(std::span<const Append> items) {
        if (!db.in_transaction()) return append({db, boxes}, items);
        Savepoint savepoint{db};
        auto results = append({db, boxes}, items);
        savepoint.keep();
        return results;
    }

    Database db;
    Boxes boxes{};
    const PublishOptions options;
};

Publisher::Publisher(pg_conn* connection, const PublishOptions& options)
    : parts_(std::make_unique<Parts>(connection, options)) {}

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

AppendResult publish(pg_conn* connection, Message message, const PublishOptions& options) {
    return Publisher{connection, options}.publish(std::move(message));
}

std::vector<AppendResult> publish(pg_conn* connection, std::span<const Message> messages,
                                  const PublishOptions& options) {
    return Publisher{connection, options}.publish(messages);
}

}  // namespace waybill::postgres
