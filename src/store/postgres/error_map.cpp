#include "error_map.hpp"

#include <array>

namespace waybill::postgres {
namespace {

struct Row {
    /// A whole SQLSTATE, or the class it begins with.
    std::string_view code;
    Reaction reaction;
    std::string_view advice;
};

/// Whole codes first where they differ from their class.
constexpr std::array<Row, 38> table{{
    {"40001", Reaction::retry, ""},
    {"40P01", Reaction::retry, ""},
    {"40", Reaction::retry, ""},
    {"55P03", Reaction::retry,
     "another transaction holds a lock that this needs: one that is left open, or a commit that "
     "waits for a synchronous standby; waybill doctor names it"},
    {"57014", Reaction::retry, "the statement took longer than its deadline"},
    {"26000", Reaction::reconnect,
     "a pooler gave us another connection: use one in session mode, or the database itself"},
    {"42P05", Reaction::reconnect,
     "a pooler gave us another connection: use one in session mode, or the database itself"},
    {"0A000", Reaction::reconnect, ""},
    {"57P01", Reaction::reconnect, "the server is shutting down, or somebody ended the connection"},
    {"57P02", Reaction::reconnect, "the server crashed and recovers"},
    {"57P03", Reaction::back_off, "the server is starting, stopping or recovering"},
    {"57P04", Reaction::give_up, "the database was dropped"},
    {"57P05", Reaction::reconnect, ""},
    {"57", Reaction::retry, ""},
    {"25006", Reaction::back_off,
     "the server only reads: it is a standby, or default_transaction_read_only is on; point the "
     "store at the primary"},
    {"25P02", Reaction::retry, ""},
    {"25P03", Reaction::reconnect,
     "our process or the network stood still with a transaction open, until the server ended it; "
     "nothing of it was applied"},
    {"25", Reaction::give_up, ""},
    {"53100", Reaction::back_off, "the server's disk is full: make room there"},
    {"53300", Reaction::back_off, "raise max_connections, or use fewer instances"},
    {"53", Reaction::back_off, ""},
    {"55000", Reaction::back_off, "the server may be a standby; point the store at the primary"},
    {"55", Reaction::give_up, ""},
    {"58", Reaction::back_off, "the server's disk or system failed; see its log"},
    {"08", Reaction::reconnect, ""},
    {"22", Reaction::bad_data, ""},
    {"23", Reaction::bad_data, ""},
    {"54", Reaction::bad_data, ""},
    {"28", Reaction::give_up, "check the user, its password and the server's pg_hba.conf"},
    {"3D000", Reaction::give_up, "create the database first"},
    {"42501", Reaction::give_up, "the user lacks a privilege on the schema of the store"},
    {"42P01", Reaction::give_up,
     "the tables of waybill are missing: start the application once, or run migrate() first"},
    {"3F000", Reaction::give_up,
     "the schema of waybill is missing: start the application once, or run migrate() first"},
    {"42883", Reaction::give_up,
     "a function of waybill is missing: start the application once, or run migrate() first"},
    {"42", Reaction::give_up, ""},
    {"XX001", Reaction::give_up, "the database is damaged: restore a backup"},
    {"XX002", Reaction::give_up, "an index is damaged: REINDEX it"},
    {"XX", Reaction::give_up, ""},
}};

const Row* row_of(std::string_view sqlstate) {
    for (const Row& row : table) {
        if (row.code.size() == 5 && row.code == sqlstate) return &row;
    }
    for (const Row& row : table) {
        if (row.code.size() == 2 && sqlstate.starts_with(row.code)) return &row;
    }
    return nullptr;
}

}  // namespace

Reaction reaction_of(std::string_view sqlstate) {
    const Row* row = row_of(sqlstate);
    return row == nullptr ? Reaction::give_up : row->reaction;
}

bool leaves_doubt(std::string_view sqlstate) {
    return sqlstate == "40003" || sqlstate.starts_with("08");
}

bool is_collision(std::string_view sqlstate) {
    return sqlstate == "40001" || sqlstate == "40P01";
}

std::string_view advice_for(std::string_view sqlstate) {
    const Row* row = row_of(sqlstate);
    return row == nullptr ? std::string_view{} : row->advice;
}

ServerError error_of(std::string_view sqlstate, std::string_view message, std::string_view doing) {
    while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
    std::string text = "postgres store: ";
    text.append(doing).append(": ").append(message).append(" (").append(sqlstate).append(")");
    if (const auto advice = advice_for(sqlstate); !advice.empty()) text.append("; ").append(advice);
    return {reaction_of(sqlstate), text, sqlstate};
}

}  // namespace waybill::postgres
