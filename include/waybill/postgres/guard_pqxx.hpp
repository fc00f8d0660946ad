#pragma once

#include <optional>
#include <string>

#include "waybill/postgres/guard.hpp"
#include "waybill/postgres/publish_pqxx.hpp"

/// A guard around a consumer that writes with libpqxx.
namespace waybill::postgres {

/// Runs `body(tx)` at most once for each (consumer, type, key): a savepoint of `tx`, which counts when that
/// commits. A pqxx::nontransaction is refused.
template <class Body>
Guarded run(Guard& guard, pqxx::transaction_base& tx, const Message& message, const Body& body) {
    if (dynamic_cast<pqxx::nontransaction*>(&tx) != nullptr) detail::refuse_outside_transaction();
    detail::check_encoding(tx.conn().get_client_encoding());
    const std::optional<Statement> mark = guard.prepare(message);
    return detail::in_savepoint(tx, "waybill_guard", [&] {
        if (mark) {
            const std::string is_first = detail::with_our_errors(
                [&] { return std::string{detail::run(tx, *mark)[0][0].c_str()}; });
            if (is_first != "t") return Guarded::duplicate;
        }
        body(tx);
        return mark ? Guarded::ran : Guarded::unguarded;
    });
}

}  // namespace waybill::postgres
