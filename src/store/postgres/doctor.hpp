#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "waybill/instances.hpp"
#include "waybill/postgres/doctor.hpp"
#include "waybill/schema.hpp"
#include "waybill/target.hpp"
#include "waybill/upkeep.hpp"

/// What `waybill doctor` knows of a database, and what it makes of that.
namespace waybill::postgres::doctor {

/// A transaction that has been open for longer than it should.
struct Session {
    std::int32_t pid = 0;
    std::string user{};
    std::string application{};
    /// As pg_stat_activity has it.
    std::string state{};
    Duration open{};
    std::string query_start{};
    /// How many transactions have begun since its snapshot was taken; nothing: it has none.
    std::optional<std::uint64_t> xmin_age{};
    bool wrote_to_us = false;
    std::string query{};
    /// So many sessions of ours wait for a lock that it holds.
    std::uint64_t blocks = 0;
};

struct Slot {
    std::string name{};
    bool active = false;
    std::optional<std::uint64_t> xmin_age{};
    /// WAL that is kept for it.
    std::uint64_t kept_bytes = 0;
};

/// A transaction of PREPARE TRANSACTION.
struct Prepared {
    std::string gid{};
    std::string owner{};
    Duration open{};
    std::uint64_t xmin_age = 0;
};

/// A right that a role needs and does not have.
struct Lack {
    /// "schema", "table", "sequence", "function".
    std::string kind{};
    std::string object{};
    std::string privilege{};
};

struct Instance {
    InstanceSeen seen{};
    /// As waybill.instance has it, and whether that backend is there.
    std::optional<std::int32_t> listener{};
    bool listener_is_there = true;
    std::uint32_t knows = 0;
};

struct Table {
    std::string name{};
    std::uint64_t rows = 0;
    std::uint64_t dead_rows = 0;
    /// From so many on autovacuum should have come.
    std::uint64_t vacuum_at = 0;
    bool autovacuum = true;
    std::uint64_t table_bytes = 0;
    std::uint64_t index_bytes = 0;
    /// Transactions since its oldest row was frozen.
    std::uint64_t frozen_age = 0;
};

enum class Pooler : std::uint8_t { none, session, transaction };

struct Facts {
    std::uint32_t version = 0;
    bool in_recovery = false;
    std::string database{};
    std::string user{};
    bool sees_sessions = true;
    std::uint64_t connections = 0;
    std::uint64_t connections_max = 0;
    std::uint64_t standbys = 0;
    std::uint64_t synchronous_standbys = 0;
    /// As a new session would have them.
    std::map<std::string, std::string> settings{};
    /// Who says so, as pg_settings has it: "database", "user", …
    std::map<std::string, std::string> setting_sources{};
    std::vector<Session> sessions{};
    std::vector<Session> blockers{};
    std::vector<Slot> slots{};
    std::vector<Prepared> prepared{};
    Pooler pooler = Pooler::none;
    /// The database's clock less ours, and by how much that may be wrong.
    Duration skew{};
    Duration skew_error{};

    bool has_schema = true;
    bool may_migrate = true;
    Schema schema{};
    /// Applied with another text than ours: "2 append".
    std::vector<std::string> changed_migrations{};
    /// Later than ours, and breaking.
    std::vector<std::string> breaking_migrations{};
    /// Roles that were asked about and that the server does not have.
    std::vector<std::string> unknown_roles{};
    std::vector<Lack> lacks{};
    /// Of DoctorOptions::publisher.
    std::vector<Lack> publisher_lacks{};
    std::vector<Instance> instances{};
    std::vector<Table> tables{};
    /// By key, with how many messages wait for it.
    std::vector<std::pair<Target, std::uint64_t>> unserved{};
    std::uint64_t partitions_of_dead = 0;
    /// Of today and tomorrow, those whose messages have no table of their own: 20261116.
    std::vector<std::string> missing_days{};
    std::vector<std::string> paused_boxes{};
    StoreHealth health{};
    /// What could not be looked at, and why.
    std::vector<std::string> not_seen{};
};

/// doctor_facts.cpp: asks. Throws StoreError when the database cannot be reached.
Facts collect(const std::string& conninfo, const DoctorOptions& options);
/// doctor_findings.cpp and doctor_server.cpp: decide. Pure; the worst first.
Findings diagnose(const Facts& facts, const DoctorOptions& options);
/// The part that is about the server, whoever uses it.
void look_at_server(const Facts& facts, const DoctorOptions& options, Findings& findings);

}  // namespace waybill::postgres::doctor
