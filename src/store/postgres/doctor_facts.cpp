#include <algorithm>
#include <memory>

#include "calls.hpp"
#include "doctor.hpp"
#include "migrate.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {
namespace doctor {
namespace {

constexpr std::size_t kUnservedMax = 20;
/// A lock that is held for less is in its holder's hands only while it works.
constexpr Duration kBlockedLong = std::chrono::seconds{2};

/// A plain session: nothing is set on it that a pooler could hand on to somebody else, and nothing is left
/// prepared.
class Visit {
public:
    Visit(const std::string& conninfo, const DoctorOptions& options)
        : connection_(connect(conninfo, options.deadline)),
          db(connection_.get(), options.schema, options.deadline) {}

private:
    struct Finish {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };
    using Connection = std::unique_ptr<PGconn, Finish>;

    static Connection connect(const std::string& conninfo, Duration deadline) {
        const auto seconds = std::max<std::int64_t>(
            std::chrono::duration_cast<std::chrono::seconds>(deadline).count(), 2);
        const std::string patience = std::to_string(seconds);
        const char* const names[] = {"application_name", "client_encoding", "connect_timeout",
                                     "dbname", nullptr};
        const char* const values[] = {"waybill doctor", "UTF8", patience.c_str(), conninfo.c_str(),
                                      nullptr};
        Connection made{PQconnectdbParams(names, values, 1)};
        if (PQstatus(made.get()) == CONNECTION_OK) return made;
        std::string why = PQerrorMessage(made.get());
        while (why.ends_with('\n')) why.pop_back();
        throw StoreError{Reaction::back_off, why};
    }

    Connection connection_;

public:
    Database db;
};

std::int32_t backend_of(Database& db) {
    Rows rows = db.read(sql::doctor_backend);
    rows.next();
    return rows.number<std::int32_t>(0);
}

/// Who is behind a pooler is told a number that is no backend's. Whether it keeps us on one backend shows
/// when somebody else has taken that one. On connections of their own, which may be left waiting.
Pooler pooler_between(const std::string& conninfo, DoctorOptions options) {
    options.deadline = std::chrono::seconds{2};
    Visit first{conninfo, options};
    const std::int32_t before = backend_of(first.db);
    if (before == PQbackendPID(first.db.handle())) return Pooler::none;
    try {
        Visit other{conninfo, options};
        const Transaction taken{other.db};
        backend_of(other.db);
        try {
            return backend_of(first.db) == before ? Pooler::session : Pooler::transaction;
        } catch (const StoreError&) {
            return Pooler::transaction;  // it has one backend for all of us
        }
    } catch (const StoreError&) {
        return Pooler::session;  // no backend is left for a second one
    }
}

void ask_server(Database& db, Facts& facts) {
    Rows rows = db.read(sql::doctor_server);
    rows.next();
    facts.version = rows.number<std::uint32_t>(0);
    facts.in_recovery = rows.flag(1);
    facts.database = rows.string(2);
    facts.user = rows.string(3);
    facts.sees_sessions = rows.flag(4);
    facts.connections = rows.number<std::uint64_t>(5);
    facts.connections_max = rows.number<std::uint64_t>(6);
    facts.standbys = rows.number<std::uint64_t>(7);
    facts.synchronous_standbys = rows.number<std::uint64_t>(8);
    Rows settings = db.read(sql::doctor_settings);
    while (settings.next()) {
        facts.settings.emplace(settings.string(0), settings.string(1));
        facts.setting_sources.emplace(settings.string(0), settings.string(2));
    }
}

std::optional<std::uint64_t> age_at(const Rows& rows, int column) {
    if (rows.is_null(column)) return std::nullopt;
    return rows.number<std::uint64_t>(column);
}

void ask_holders(Database& db, const DoctorOptions& options, Facts& facts) {
    Rows sessions = db.read(sql::doctor_sessions, options.schema, options.old_transaction);
    while (sessions.next()) {
        facts.sessions.push_back({.pid = sessions.number<std::int32_t>(0),
                                  .user = sessions.string(1),
                                  .application = sessions.string(2),
                                  .state = sessions.string(3),
                                  .open = Duration{sessions.integer(4)},
                                  .query_start = sessions.string(5),
                                  .xmin_age = age_at(sessions, 6),
                                  .wrote_to_us = sessions.flag(7),
                                  .query = sessions.string(8)});
    }
    Rows blockers = db.read(sql::doctor_blockers, kBlockedLong);
    while (blockers.next()) {
        facts.blockers.push_back({.pid = blockers.number<std::int32_t>(0),
                                  .user = blockers.string(1),
                                  .application = blockers.string(2),
                                  .state = blockers.string(3),
                                  .open = Duration{blockers.integer(4)},
                                  .query_start = blockers.string(5),
                                  .query = blockers.string(6),
                                  .blocks = blockers.number<std::uint64_t>(7)});
    }
    Rows slots = db.read(sql::doctor_slots);
    while (slots.next()) {
        facts.slots.push_back({.name = slots.string(0),
                               .active = slots.flag(1),
                               .xmin_age = age_at(slots, 2),
                               .kept_bytes = slots.number<std::uint64_t>(3)});
    }
    Rows prepared = db.read(sql::doctor_prepared);
    while (prepared.next()) {
        facts.prepared.push_back({.gid = prepared.string(0),
                                  .owner = prepared.string(1),
                                  .open = Duration{prepared.integer(2)},
                                  .xmin_age = prepared.number<std::uint64_t>(3)});
    }
}

/// Half of the way there and back may be anywhere.
void ask_clock(Database& db, const sql::Query& query, Facts& facts) {
    const StoreTime before = system_clock().wall();
    Rows rows = db.read(query);
    const StoreTime after = system_clock().wall();
    rows.next();
    facts.skew_error = (after - before) / 2;
    facts.skew = rows.time(0) - (before + facts.skew_error);
}

std::vector<Lack> lacks_of(Rows rows) {
    std::vector<Lack> all;
    while (rows.next()) all.push_back({rows.string(0), rows.string(1), rows.string(2)});
    return all;
}

void ask_tables(Database& db, const std::string& schema, Facts& facts) {
    Rows rows = db.read(sql::doctor_tables, schema);
    while (rows.next()) {
        facts.tables.push_back({.name = rows.string(0),
                                .rows = rows.number<std::uint64_t>(1),
                                .dead_rows = rows.number<std::uint64_t>(2),
                                .vacuum_at = rows.number<std::uint64_t>(3),
                                .autovacuum = rows.flag(4),
                                .table_bytes = rows.number<std::uint64_t>(5),
                                .index_bytes = rows.number<std::uint64_t>(6),
                                .frozen_age = rows.number<std::uint64_t>(7)});
    }
}

void ask_instances(Database& db, Facts& facts) {
    for (InstanceSeen& seen : instances(db)) facts.instances.push_back({.seen = std::move(seen)});
    Rows rows = db.read(sql::doctor_listeners);
    while (rows.next()) {
        const auto found = std::ranges::find_if(facts.instances, [&](const Instance& instance) {
            return instance.seen.incarnation == rows.uuid(0);
        });
        if (found == facts.instances.end()) continue;
        if (!rows.is_null(1)) found->listener = rows.number<std::int32_t>(1);
        found->knows = rows.number<std::uint32_t>(2);
        found->listener_is_there = rows.flag(3);
    }
    Rows partitions = db.read(sql::doctor_partitions);
    partitions.next();
    facts.partitions_of_dead = partitions.number<std::uint64_t>(0);
}

void ask_targets(Database& db, Facts& facts) {
    std::vector<InstanceSeen> seen;
    for (const Instance& instance : facts.instances) seen.push_back(instance.seen);
    for (const Target& target : without_instance(targets(db), seen)) {
        if (facts.unserved.size() >= kUnservedMax) break;
        facts.unserved.emplace_back(target, waiting_for(db, target));
    }
}

void ask_schema(Database& db, Facts& facts) {
    facts.schema = schema(db);
    facts.changed_migrations = changed_migrations(db);
    facts.breaking_migrations = breaking_migrations(db);
}

/// What one question cannot answer does not keep the others from being asked.
template <class Question>
void look(const char* at, Facts& facts, Question question) {
    try {
        question();
    } catch (const StoreError& error) {
        const bool is_gone =
            error.reaction() == Reaction::reconnect || error.reaction() == Reaction::back_off;
        if (is_gone) throw;
        facts.not_seen.push_back(std::string{at} + ": " + error.what());
    }
}

/// The same of our own tables, which somebody may have locked.
template <class Question>
void look_at_ours(const char* at, Facts& facts, Database& db, Question question) {
    look(at, facts, [&] {
        Transaction brief{db};
        db.script("set local lock_timeout = '1s'", "doctor");
        question();
        brief.commit();
    });
}

}  // namespace

Facts collect(const std::string& conninfo, const DoctorOptions& options) {
    Facts facts;
    look("pooler", facts, [&] { facts.pooler = pooler_between(conninfo, options); });
    Visit visit{conninfo, options};
    Database& db = visit.db;
    const std::string& schema = options.schema;
    look("server", facts, [&] { ask_server(db, facts); });
    look("transactions", facts, [&] { ask_holders(db, options, facts); });
    look("clock", facts, [&] { ask_clock(db, sql::doctor_clock, facts); });
    look("schema", facts, [&] {
        Rows rows = db.read(sql::doctor_has_schema, schema);
        rows.next();
        facts.has_schema = rows.flag(0);
        facts.may_migrate = rows.flag(1);
    });
    if (!facts.has_schema) {
        facts.schema = {.newest = newest_migration()};
        return facts;
    }
    const auto has_role = [&](const std::string& role) {
        Rows rows = db.read(sql::doctor_has_role, role);
        const bool is_there = rows.next() && rows.flag(0);
        if (!is_there) facts.unknown_roles.push_back(role);
        return is_there;
    };
    const std::string& server = options.server.empty() ? facts.user : options.server;
    look("privileges", facts, [&] {
        if (has_role(server)) facts.lacks = lacks_of(db.read(sql::doctor_lacks, schema, server));
    });
    if (!options.publisher.empty() && has_role(options.publisher)) {
        look("publisher", facts, [&] {
            facts.publisher_lacks =
                lacks_of(db.read(sql::doctor_publisher_lacks, schema, options.publisher));
        });
    }
    look_at_ours("migrations", facts, db, [&] { ask_schema(db, facts); });
    look_at_ours("tables", facts, db, [&] { ask_tables(db, schema, facts); });
    if (facts.schema.version == 0) return facts;
    look("store clock", facts, [&] { ask_clock(db, sql::doctor_store_clock, facts); });
    if (facts.schema.missing.empty()) {
        look_at_ours("days", facts, db, [&] {
            Rows rows = db.read(sql::doctor_days);
            while (rows.next()) facts.missing_days.push_back(rows.string(0));
        });
    }
    look_at_ours("instances", facts, db, [&] { ask_instances(db, facts); });
    look_at_ours("targets", facts, db, [&] { ask_targets(db, facts); });
    look_at_ours("boxes", facts, db, [&] {
        for (const BoxState& box : boxes(db)) {
            if (box.paused) facts.paused_boxes.push_back(box.name);
        }
    });
    look_at_ours("messages", facts, db, [&] { facts.health = health(db); });
    return facts;
}

}  // namespace doctor

Findings examine(const std::string& conninfo, const DoctorOptions& options) {
    try {
        return doctor::diagnose(doctor::collect(conninfo, options), options);
    } catch (const StoreError& error) {
        return {{.severity = Finding::Severity::problem,
                 .name = "unreachable",
                 .what = error.what(),
                 .means = "nothing can be stored or handled; who publishes gets errors, and "
                          "webhooks are answered 503",
                 .fix = "pg_isready -d 'postgresql://…'   # the URL of the store\n"
                        "# is the server up, its name right, the password and pg_hba.conf?"}};
    }
}

}  // namespace waybill::postgres
