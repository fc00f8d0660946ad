#include "waybill/postgres/publish.hpp"

#include <deque>
#include <exception>
#include <utility>

#include "commit_watch.hpp"
#include "database.hpp"
#include "error_map.hpp"
#include "publish_columns.hpp"

namespace waybill::postgres {
namespace {

using BinaryColumns = PublishColumns<Texts, Blobs, Uuids, Longs>;

constexpr const char* kSavepoint = "savepoint waybill_publish";
constexpr const char* kRelease = "release waybill_publish";

[[noreturn]] void refuse_to_publish(const std::string& why) {
    throw StoreError{Reaction::give_up, "publish: " + why};
}

[[noreturn]] void connection_lost(PGconn* connection) {
    std::string why = PQerrorMessage(connection);
    while (why.ends_with('\n')) why.pop_back();
    throw StoreError{Reaction::reconnect,
                     "publish: " + (why.empty() ? std::string{"the connection was lost"} : why)};
}

[[noreturn]] void commit_unknown(const std::string& why) {
    throw StoreError{Reaction::find_out, "publish: " + why + "; it may have been applied or not"};
}

[[noreturn]] void throw_failure(PGconn* connection, const PGresult* result) {
    const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (state == nullptr) connection_lost(connection);
    if (std::string_view{state} == "25P01") detail::refuse_outside_transaction();
    const char* const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    detail::throw_error(state, message == nullptr ? "" : message);
}

/// Takes what one statement of a pipeline answered. Throws what went wrong with it.
Rows take_answer(PGconn* connection) {
    PGresult* result = PQgetResult(connection);
    // The caller may have left the null behind its own last result.
    if (result == nullptr) result = PQgetResult(connection);
    if (result == nullptr)
        refuse_to_publish("its turn has not come: take the results of what was sent before");
    Rows rows{result};
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_PIPELINE_SYNC) {
        refuse_to_publish("its turn has not come: take the result of PQpipelineSync first");
    }
    // After each result comes a null.
    if (PQstatus(connection) == CONNECTION_OK) PQclear(PQgetResult(connection));
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows;
    if (status == PGRES_PIPELINE_ABORTED) {
        refuse_to_publish(
            "a statement before it in the pipeline has failed, so nothing was published");
    }
    throw_failure(connection, result);
}

AppendResult result_of(const Rows& rows) {
    using enum AppendResult::Status;
    return {.status = rows.text(0) == "fresh"       ? fresh
                      : rows.text(0) == "duplicate" ? duplicate
                                                    : conflict,
            .id = rows.uuid(1),
            .sequence = rows.integer(2),
            .partition = rows.number<PartitionId>(3),
            .first_is_dead = rows.flag(4)};
}

/// A pipeline of our own on an idle connection: one round trip for what belongs together.
class OwnPipeline {
public:
    explicit OwnPipeline(PGconn* connection) : connection_(connection) {
        if (PQenterPipelineMode(connection_) == 0) connection_lost(connection_);
    }
    ~OwnPipeline() {
        drain();
        PQexitPipelineMode(connection_);
    }
    OwnPipeline(const OwnPipeline&) = delete;
    OwnPipeline& operator=(const OwnPipeline&) = delete;

    void sync() {
        if (PQpipelineSync(connection_) == 0) connection_lost(connection_);
        is_synced_ = true;
    }
    /// Takes whatever is left, up to the answer to the sync, with which whatever is outside a transaction commits. False:
    /// that never came.
    bool drain() {
        while (is_synced_ && PQstatus(connection_) == CONNECTION_OK) {
            PGresult* const result = PQgetResult(connection_);
            const Rows left{result};
            if (left.status() == PGRES_PIPELINE_SYNC) is_synced_ = false;
            if (left.status() == PGRES_FATAL_ERROR && !failure_) note_failure(result);
        }
        return !is_synced_;
    }
    /// Why it was not committed; null: it was.
    const std::exception_ptr& failure() const { return failure_; }

private:
    void note_failure(const PGresult* result) {
        try {
            throw_failure(connection_, result);
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    PGconn* connection_;
    std::exception_ptr failure_{};
    bool is_synced_ = false;
};

}  // namespace

struct Publisher::Parts {
    Parts(PGconn* the_connection, const PublishOptions& the_options)
        : connection(the_connection),
          options(the_options),
          statement(in_schema(sql::publish_many.text, checked_schema(options.schema))) {}

    void check_encoding() const {
        const char* const encoding = PQparameterStatus(connection, "client_encoding");
        if (encoding == nullptr) connection_lost(connection);
        detail::check_encoding(encoding);
    }

    /// True: inside a transaction.
    bool check_idle_connection() const {
        if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
            refuse_to_publish("the connection is in pipeline mode; use send() and receive() there");
        }
        switch (PQtransactionStatus(connection)) {
            case PQTRANS_INTRANS: return true;
            case PQTRANS_IDLE:
                if (!options.outside_transaction) detail::refuse_outside_transaction();
                return false;
            case PQTRANS_INERROR:
                refuse_to_publish(
                    "a statement of this transaction has failed, so it can only be rolled back");
            default: refuse_to_publish("the connection is closed, or another statement runs on it");
        }
    }

    void queue(const char* text, const Parameters& parameters = Parameters{}) {
        const std::vector<int> formats(parameters.values.size(), 1);
        if (PQsendQueryParams(connection, text, static_cast<int>(parameters.values.size()), nullptr,
                              parameters.values.data(), parameters.lengths.data(), formats.data(),
                              1) == 0) {
            connection_lost(connection);
        }
    }

    /// `is_enclosed`: between a savepoint and its release, which only a transaction can have.
    void send(std::span<const Message> messages, bool is_enclosed) {
        const BinaryColumns columns{messages};
        if (is_enclosed) queue(kSavepoint);
        columns.visit([&](const auto&... column) {
            queue(statement.c_str(), Parameters{column..., options.ordered, options.notify,
                                                options.relaxed_durability});
        });
        if (is_enclosed) queue(kRelease);
        sent.push_back(is_enclosed);
    }

    std::vector<AppendResult> receive() {
        const bool is_enclosed = sent.front();
        sent.pop_front();
        std::vector<AppendResult> results;
        std::exception_ptr failure;
        // All of its answers are taken, so that the caller finds its own next.
        for (int left = is_enclosed ? 3 : 1; left > 0; --left) {
            try {
                Rows rows = take_answer(connection);
                while (rows.next()) results.push_back(result_of(rows));
            } catch (...) {
                if (!failure) failure = std::current_exception();
                if (PQstatus(connection) != CONNECTION_OK) break;
            }
        }
        if (failure) std::rethrow_exception(failure);
        return results;
    }

    std::vector<AppendResult> send_and_receive(std::span<const Message> messages,
                                               bool is_enclosed) {
        const CommitWatch watch{connection, Whose::borrowed};
        OwnPipeline pipeline{connection};
        send(messages, is_enclosed);
        pipeline.sync();
        std::vector<AppendResult> results = receive();
        const bool is_answered = pipeline.drain();
        if (pipeline.failure()) std::rethrow_exception(pipeline.failure());
        if (!is_enclosed && !is_answered) commit_unknown("the connection was lost");
        if (watch.was_cancelled()) commit_unknown(CommitWatch::text);
        return results;
    }

    PGconn* connection;
    const PublishOptions options;
    const std::string statement;
    /// What receive() has to take; true: enclosed.
    std::deque<bool> sent{};
};

Publisher::Publisher(pg_conn* connection, const PublishOptions& options)
    : parts_(std::make_unique<Parts>(connection, options)) {}

Publisher::~Publisher() = default;

std::vector<AppendResult> Publisher::publish(std::span<const Message> messages) {
    const bool is_enclosed = parts_->check_idle_connection();
    parts_->check_encoding();
    const std::vector<Message> sound = checked(messages);
    if (sound.empty()) return {};
    try {
        return parts_->send_and_receive(sound, is_enclosed);
    } catch (...) {
        parts_->sent.clear();
        if (PQtransactionStatus(parts_->connection) == PQTRANS_INERROR) {
            // If this fails too, the caller's ROLLBACK will do it; the error in flight says why.
            PQclear(
                PQexec(parts_->connection, "rollback to waybill_publish; release waybill_publish"));
        }
        throw;
    }
}

AppendResult Publisher::publish(const Message& message) {
    return publish(std::span{&message, 1}).front();
}

void Publisher::send(std::span<const Message> messages) {
    if (PQpipelineStatus(parts_->connection) != PQ_PIPELINE_ON) {
        refuse_to_publish(
            "the connection is not in pipeline mode, or its pipeline has failed; use publish(), "
            "or PQenterPipelineMode()");
    }
    parts_->check_encoding();
    parts_->send(checked(messages), !parts_->options.outside_transaction);
}

std::vector<AppendResult> Publisher::receive() {
    if (parts_->sent.empty()) refuse_to_publish("nothing was sent that is not yet received");
    // Without it the server may keep its answers to itself.
    if (PQsendFlushRequest(parts_->connection) == 0) connection_lost(parts_->connection);
    return parts_->receive();
}

AppendResult publish(pg_conn* connection, const Message& message, const PublishOptions& options) {
    return Publisher{connection, options}.publish(message);
}

std::vector<AppendResult> publish(pg_conn* connection, std::span<const Message> messages,
                                  const PublishOptions& options) {
    return Publisher{connection, options}.publish(messages);
}

}  // namespace waybill::postgres
