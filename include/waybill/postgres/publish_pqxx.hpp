#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pqxx/pqxx>  // lint: allow(includes) header-only: who includes this links libpqxx, we do not

#include "waybill/postgres/publish.hpp"

/// publish() in a transaction of libpqxx: 6, as Debian 12 has it; also written for 7 and 8.
namespace waybill::postgres {

namespace detail {

/// Sends a prepared statement.
inline pqxx::result run(pqxx::transaction_base& tx, const Statement& statement) {
#if defined(PQXX_VERSION_MAJOR) && PQXX_VERSION_MAJOR >= 7
    pqxx::params parameters;
    for (const std::string& parameter : statement.parameters) parameters.append(parameter);
#if PQXX_VERSION_MAJOR >= 8
    return tx.exec(statement.sql, parameters);
#else
    return tx.exec_params(statement.sql, parameters);
#endif
#else
    return tx.exec_params(statement.sql, pqxx::prepare::make_dynamic_params(statement.parameters));
#endif
}

/// Runs `work`; after an error of the server the transaction is as it was before.
template <class Work>
auto in_savepoint(pqxx::transaction_base& tx, const std::string& name, const Work& work) {
    tx.exec("savepoint " + name);
    try {
        auto result = work();
        tx.exec("release " + name);
        return result;
    } catch (const pqxx::broken_connection&) {
        throw;
    } catch (...) {
        tx.exec("rollback to " + name);
        tx.exec("release " + name);
        throw;
    }
}

/// Turns pqxx's words into ours.
template <class Work>
auto with_our_errors(const Work& work) {
    try {
        return work();
    } catch (const pqxx::broken_connection& error) {
        throw StoreError{Reaction::reconnect, std::string{"publish: "} + error.what()};
    } catch (const pqxx::sql_error& error) {
        throw_error(error.sqlstate(), error.what());
    }
}

/// One answer per row.
inline std::vector<AppendResult> read_answers(const pqxx::result& rows) {
    std::vector<AppendResult> results;
    for (const auto& row : rows) {
        std::array<std::string_view, 5> columns;
        for (int i = 0; i < 5; ++i) columns[static_cast<std::size_t>(i)] = row[i].c_str();
        results.push_back(read_answer(columns));
    }
    return results;
}

}  // namespace detail

/// All or nothing. After an error `tx` is as it was before the call, and may go on. A
/// pqxx::nontransaction is refused unless `outside_transaction` is set.
inline std::vector<AppendResult> publish(pqxx::transaction_base& tx,
                                         std::span<const Message> messages,
                                         const PublishOptions& options = {}) {
    const bool is_enclosed = dynamic_cast<pqxx::nontransaction*>(&tx) == nullptr;
    if (!is_enclosed && !options.outside_transaction) detail::refuse_outside_transaction();
    const Statement statement = prepare(messages, options);
    return detail::with_our_errors([&] {
        const auto run = [&] { return detail::read_answers(detail::run(tx, statement)); };
        detail::check_encoding(tx.conn().get_client_encoding());
        return is_enclosed ? detail::in_savepoint(tx, "waybill_publish", run) : run();
    });
}

/// One message.
inline AppendResult publish(pqxx::transaction_base& tx, const Message& message,
                            const PublishOptions& options = {}) {
    return publish(tx, std::span{&message, 1}, options).front();
}

}  // namespace waybill::postgres
