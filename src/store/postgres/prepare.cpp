#include <charconv>
#include <limits>

#include "database.hpp"
#include "error_map.hpp"
#include "publish_columns.hpp"
#include "waybill/append.hpp"
#include "waybill/message_check.hpp"
#include "waybill/postgres.hpp"
#include "waybill/scope.hpp"

namespace waybill::postgres {
namespace {

/// The elements of an array, as PostgreSQL writes it.
class LiteralColumn {
public:
    void add(std::string_view text) {
        open();
        elements_.push_back('"');
        for (const char letter : text) {
            if (letter == '"' || letter == '\\') elements_.push_back('\\');
            elements_.push_back(letter);
        }
        elements_.push_back('"');
    }
    void add(const std::optional<Uuid>& id) { id ? add(to_string(*id)) : add_null(); }
    void add(const std::optional<std::string>& text) {
        text ? add(std::string_view{*text}) : add_null();
    }
    void add(const std::string& text) { add(std::string_view{text}); }
    void add(StoreTime time) {
        open();
        elements_ += std::to_string(time.time_since_epoch().count());
    }
    std::string text() const { return "{" + elements_ + "}"; }

protected:
    void add_null() {
        open();
        elements_ += "NULL";
    }
    void open() {
        if (!elements_.empty()) elements_.push_back(',');
    }

    std::string elements_{};
};

class HexColumn : public LiteralColumn {
public:
    void add(std::string_view bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        open();
        elements_.reserve(elements_.size() + 2 * bytes.size() + 8);
        elements_ += R"("\\x)";
        for (const char byte : bytes) {
            elements_.push_back(digits[static_cast<std::uint8_t>(byte) >> 4]);
            elements_.push_back(digits[static_cast<std::uint8_t>(byte) & 15]);
        }
        elements_.push_back('"');
    }
};

using TextColumns = PublishColumns<LiteralColumn, HexColumn, LiteralColumn, LiteralColumn>;

template <class Number>
Number number_of(std::string_view text) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

const std::string& checked_schema(const std::string& schema) {
    if (Problems problems = check(Options{.schema = schema}); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
    return schema;
}

std::vector<Message> checked(std::span<const Message> messages) {
    // The limit of the box is in the database.
    const BoxOptions any{.body_bytes_max = std::numeric_limits<std::uint64_t>::max()};
    std::vector<Message> all{messages.begin(), messages.end()};
    for (Message& message : all) {
        stamp(message);
        const bool means_the_only_box = message.box.empty();
        if (means_the_only_box) message.box = "any";
        Problems problems = check(message, any);
        if (means_the_only_box) message.box.clear();
        if (!problems.empty()) throw InvalidMessage{std::move(problems)};
    }
    return all;
}

Statement prepare(std::span<const Message> messages, const PublishOptions& options) {
    Statement statement{.sql = in_schema(sql::publish_many.text, checked_schema(options.schema))};
    const TextColumns columns{checked(messages)};
    columns.visit(
        [&](const auto&... column) { (statement.parameters.push_back(column.text()), ...); });
    for (const bool flag : {options.ordered, options.notify, options.relaxed_durability}) {
        statement.parameters.emplace_back(flag ? "true" : "false");
    }
    return statement;
}

Statement prepare(const Message& message, const PublishOptions& options) {
    return prepare(std::span{&message, 1}, options);
}

AppendResult read_answer(std::span<const std::string_view> columns) {
    using enum AppendResult::Status;
    if (columns.size() != 5) {
        throw StoreError{Reaction::give_up, "publish: an answer has five columns, not " +
                                                std::to_string(columns.size())};
    }
    AppendResult result;
    result.status = columns[0] == "fresh"       ? fresh
                    : columns[0] == "duplicate" ? duplicate
                                                : conflict;
    result.id = parse_uuid(columns[1]).value_or(Uuid{});
    result.sequence = number_of<Sequence>(columns[2]);
    result.partition = number_of<PartitionId>(columns[3]);
    result.first_is_dead = columns[4].starts_with('t');
    return result;
}

namespace detail {

void throw_error(std::string_view sqlstate, std::string_view message) {
    // What our own functions refuse.
    constexpr std::string_view ours = "waybill: ";
    if (sqlstate == "22023" && message.find(ours) != std::string_view::npos) {
        message.remove_prefix(message.find(ours) + ours.size());
        throw InvalidMessage{{std::string{message.substr(0, message.find('\n'))}}};
    }
    throw error_of(sqlstate, message, "publish");
}

void refuse_outside_transaction() {
    throw StoreError{Reaction::give_up,
                     "publish: no transaction is open on this connection, so the message would not "
                     "share the fate of anything; BEGIN first, or set outside_transaction"};
}

void check_encoding(std::string_view client_encoding) {
    if (client_encoding == "UTF8" || client_encoding == "SQL_ASCII") return;
    throw StoreError{Reaction::give_up, "client_encoding of this session is " +
                                            std::string{client_encoding} +
                                            ", and messages are UTF-8; set it to UTF8"};
}

}  // namespace detail

}  // namespace waybill::postgres
