#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres/wire.hpp"
#include "waybill/message.hpp"

/// What libpq alone does with the same rows in the same tables: prepared statements with array parameters,
/// binary, one statement and one commit per batch, no engine, no fence, no answer to duplicates. The limit
/// the store is measured against.
namespace waybill::bench {

/// One answer; throws std::runtime_error.
class RawAnswer {
public:
    RawAnswer(PGconn* connection, PGresult* result) : result_(result) {
        const ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
        const std::string error = PQerrorMessage(connection);
        PQclear(result);
        throw std::runtime_error("raw: " + error);
    }
    ~RawAnswer() { PQclear(result_); }
    RawAnswer(const RawAnswer&) = delete;
    RawAnswer& operator=(const RawAnswer&) = delete;

    int rows() const { return PQntuples(result_); }
    std::string text(int row, int column) const { return PQgetvalue(result_, row, column); }
    std::int64_t integer(int row, int column) const {
        return static_cast<std::int64_t>(
            postgres::get_number({PQgetvalue(result_, row, column),
                                  static_cast<std::size_t>(PQgetlength(result_, row, column))}));
    }

private:
    PGresult* result_;
};

/// A row that was inserted and is to be finished.
struct RawPlace {
    std::int32_t partition = 0;
    std::int64_t sequence = 0;
    Uuid id{};
};

class RawPostgres {
public:
    /// The schema and the box are there: made by the store.
    RawPostgres(const std::string& conninfo, const std::string& schema)
        : connection_(PQconnectdb(conninfo.c_str())), schema_(schema) {
        // As the store's own connections: tables that fill and empty have no true statistics.
        run("set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;"
            "set plan_cache_mode = force_generic_plan; set jit = off");
        const RawAnswer found{
            connection_,
            PQexec(connection_, ("select id from " + schema_ + ".partition order by id").c_str())};
        for (int row = 0; row < found.rows(); ++row) {
            partitions_.push_back(std::stoi(found.text(row, 0)));
        }
        prepare("insert_messages", kInsert);
        prepare("finish_messages", kFinish);
    }
    ~RawPostgres() { PQfinish(connection_); }
    RawPostgres(const RawPostgres&) = delete;
    RawPostgres& operator=(const RawPostgres&) = delete;

    /// One commit: a row each in `message` and `open`.
    std::vector<RawPlace> insert(const std::vector<Message>& messages) {
        postgres::Uuids ids;
        postgres::Ints partitions;
        postgres::Texts types;
        postgres::Texts lanes;
        postgres::Longs numbers;
        postgres::Blobs bodies;
        std::vector<RawPlace> places;
        for (const Message& message : messages) {
            const std::size_t hash =
                message.lane.empty() ? next_++ : std::hash<std::string>{}(message.lane);
            places.push_back({partitions_[hash % partitions_.size()], 0, message.id});
            ids.add(message.id);
            partitions.add(places.back().partition);
            types.add(message.type);
            lanes.add(message.lane);
            message.lane.empty() ? numbers.add_null() : numbers.add(hash);
            bodies.add(message.body);
        }
        const RawAnswer answer =
            execute("insert_messages",
                    postgres::Parameters{ids, partitions, types, lanes, numbers, bodies});
        for (std::size_t i = 0; i < places.size(); ++i) {
            places[i].sequence = answer.integer(static_cast<int>(i), 0);
        }
        return places;
    }
    /// One commit: the row of `open` goes, one of `finished` comes.
    void finish(const std::vector<RawPlace>& places) {
        postgres::Ints partitions;
        postgres::Longs sequences;
        postgres::Uuids ids;
        for (const RawPlace& place : places) {
            partitions.add(place.partition);
            sequences.add(place.sequence);
            ids.add(place.id);
        }
        execute("finish_messages", postgres::Parameters{partitions, sequences, ids});
    }

    void run(const std::string& text) {
        const RawAnswer answer{connection_, PQexec(connection_, text.c_str())};
    }
    /// The first value of the first row.
    std::string value(const std::string& text) {
        return RawAnswer{connection_, PQexec(connection_, text.c_str())}.text(0, 0);
    }

private:
    static constexpr const char* kInsert =
        "with item as materialized (select nextval('$.sequence') as sequence, i.* from "
        "unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::bigint[], $6::bytea[]) "
        "as i (id, partition, type, lane, lane_number, body)), "
        "message as (insert into $.message (sequence, id, partition, appended_at, occurred_at, "
        "not_before, type, source, content_type, tenant, user_id, correlation_id, lane, dedup_key, "
        "collapse_key, body) select sequence, id, partition, 1700000000000000, 0, 0, type, '', '', "
        "'', '', '', lane, '', '', body from item) "
        "insert into $.open (partition, sequence, id, lane, due) "
        "select partition, sequence, id, lane_number, 0 from item returning sequence";
    static constexpr const char* kFinish =
        "with gone as (delete from $.open o using unnest($1::integer[], $2::bigint[], $3::uuid[]) "
        "as f (partition, sequence, id) where o.partition = f.partition and not o.parked "
        "and o.sequence = f.sequence returning o.id) "
        "insert into $.finished (id, at, box, held) "
        "select id, 1700000000000000, 1, false from gone";

    void prepare(const char* name, std::string text) {
        for (std::size_t at = 0; (at = text.find("$.", at)) != std::string::npos;) {
            text.replace(at, 1, schema_);
        }
        const RawAnswer answer{connection_, PQprepare(connection_, name, text.c_str(), 0, nullptr)};
    }
    RawAnswer execute(const char* name, const postgres::Parameters& given) {
        const std::vector<int> binary(given.values.size(), 1);
        return RawAnswer{
            connection_,
            PQexecPrepared(connection_, name, static_cast<int>(given.values.size()),
                           given.values.data(), given.lengths.data(), binary.data(), 1)};
    }

    PGconn* connection_;
    std::string schema_;
    std::vector<std::int32_t> partitions_{};
    std::size_t next_ = 0;
};

}  // namespace waybill::bench
