#include <algorithm>

#include "core/wording.hpp"
#include "core/work_findings.hpp"
#include "doctor.hpp"

/// What is so in the server, whoever uses it: transactions, settings, dead rows, clocks.
namespace waybill::postgres::doctor {
namespace {

using namespace std::chrono_literals;
using enum Finding::Severity;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::string who(const Session& session) {
    return "process " + std::to_string(session.pid) + " (user " + session.user +
           (session.application.empty() ? "" : ", " + session.application) + ", " + session.state +
           ")";
}

std::string ending(const Session& session) {
    return "select pg_terminate_backend(" + std::to_string(session.pid) + ");\n";
}

/// What keeps rows that were deleted from being removed: the oldest of each kind.
void look_at_holders(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    const char* const means =
        "no row that was deleted since can be removed: tables and indexes grow, and takeovers and "
        "scans walk over what is done";
    const Session* oldest = nullptr;
    std::size_t holders = 0;
    std::string ends;
    for (const Session& session : facts.sessions) {
        if (!session.xmin_age) continue;
        ++holders;
        ends += ending(session);
        if (oldest == nullptr || *session.xmin_age > *oldest->xmin_age) oldest = &session;
    }
    if (oldest != nullptr) {
        findings.push_back(
            {oldest->open >= 1h ? problem : warning, "held-xmin",
             who(*oldest) + " has a transaction open for " + detail::about(oldest->open) +
                 " and holds xmin, " + detail::grouped(*oldest->xmin_age) +
                 " transactions old; its last query began " + oldest->query_start + ": " +
                 oldest->query +
                 (holders > 1 ? " (and " + std::to_string(holders - 1) + " more)" : ""),
             means, ends});
    }
    for (const Slot& slot : facts.slots) {
        const bool holds = slot.xmin_age.value_or(0) > 0;
        if (slot.active || (!holds && slot.kept_bytes < 64 * kMiB)) continue;
        findings.push_back({warning, "unused-slot",
                            "replication slot " + slot.name + " has no reader, and keeps " +
                                detail::grouped(slot.kept_bytes / kMiB) + " MiB of WAL" +
                                (holds ? " and xmin" : ""),
                            "the disk fills; " + std::string{means},
                            "select pg_drop_replication_slot('" + slot.name +
                                "');   -- if nobody comes back for it"});
    }
    for (const Prepared& one : facts.prepared) {
        if (one.open < options.old_transaction) continue;
        findings.push_back({warning, "prepared-transaction",
                            "prepared transaction '" + one.gid + "' of " + one.owner +
                                " is open for " + detail::about(one.open),
                            "it keeps its locks, also over a restart; " + std::string{means},
                            "rollback prepared '" + one.gid + "';   -- or commit prepared"});
    }
}

/// Settlements and takeovers wait for them, and are given up after a while, again and again.
void look_at_blockers(const Facts& facts, Findings& findings) {
    for (const Session& session : facts.blockers) {
        findings.push_back(
            {problem, "blocked",
             who(session) + " holds locks for " + detail::about(session.open) + " that " +
                 std::to_string(session.blocks) + (session.blocks == 1 ? " session" : " sessions") +
                 " of Waybill wait for; its last query began " + session.query_start + ": " +
                 session.query,
             "what was handled cannot be recorded, or what nobody owns cannot be taken",
             ending(session)});
    }
}

void look_at_publishers(const Facts& facts, Findings& findings) {
    for (const Session& session : facts.sessions) {
        if (!session.wrote_to_us || !session.state.starts_with("idle in transaction")) continue;
        findings.push_back(
            {warning, "idle-publisher",
             who(session) + " has published and left its transaction open for " +
                 detail::about(session.open) + "; its last query began " + session.query_start,
             "its messages are not there before it commits, and whoever publishes with one of its "
             "dedup keys waits for it",
             ending(session) + "alter role \"" + session.user +
                 "\" set idle_in_transaction_session_timeout = '1min';"});
    }
}

std::string setting(const Facts& facts, const std::string& name) {
    const auto found = facts.settings.find(name);
    return found == facts.settings.end() ? std::string{} : found->second;
}

std::string set_to(const std::string& name, const std::string& value) {
    return "alter system set " + name + " = '" + value + "';\nselect pg_reload_conf();";
}

/// Where it was said: what is said of a database or of a role goes before what the server says.
std::string mended(const Facts& facts, const std::string& name, const std::string& value) {
    const auto found = facts.setting_sources.find(name);
    const std::string source = found == facts.setting_sources.end() ? "" : found->second;
    const std::string database = "database \"" + facts.database + "\"";
    const std::string role = "role \"" + facts.user + "\"";
    if (source == "database") return "alter " + database + " reset " + name + ";";
    if (source == "user") return "alter " + role + " reset " + name + ";";
    if (source == "database user")
        return "alter " + role + " in " + database + " reset " + name + ";";
    return set_to(name, value);
}

/// Settings that must have one value.
struct Rule {
    const char* name;
    const char* bad;
    Finding::Severity severity;
    const char* means;
    const char* good;
};

constexpr Rule kRules[] = {
    {"fsync", "off", Finding::Severity::problem, "a power cut may damage the whole database", "on"},
    {"full_page_writes", "off", Finding::Severity::problem, "a power cut may damage pages", "on"},
    {"data_sync_retry", "on", Finding::Severity::problem,
     "a write that the disk refused may count as done", "off"},
    {"synchronous_commit", "off", Finding::Severity::warning,
     "sessions of servers wait for the disk all the same; who publishes by SQL is refused, unless "
     "it says relaxed: then a crash may lose what it committed",
     "on"},
    {"autovacuum", "off", Finding::Severity::problem,
     "tables that fill and empty grow without end, until the server stops for want of "
     "transaction numbers",
     "on"},
    {"track_counts", "off", Finding::Severity::problem, "autovacuum does not know what to do",
     "on"},
    {"default_transaction_read_only", "on", Finding::Severity::problem, "nothing can be stored",
     "off"},
};

void look_at_settings(const Facts& facts, Findings& findings) {
    for (const Rule& rule : kRules) {
        if (setting(facts, rule.name) != rule.bad) continue;
        std::string fix = mended(facts, rule.name, rule.good);
        if (std::string_view{rule.name} == "data_sync_retry") fix += "   -- after a restart";
        findings.push_back({rule.severity, "weak-setting",
                            std::string{rule.name} + " is " + rule.bad, rule.means,
                            std::move(fix)});
    }
    if (const std::string encoding = setting(facts, "server_encoding");
        !encoding.empty() && encoding != "UTF8") {
        findings.push_back({problem, "weak-setting", "the database is in " + encoding,
                            "texts that it cannot hold are refused",
                            "create database waybill encoding 'UTF8' template template0;"});
    }
    if (facts.version != 0 && facts.version < 130000) {
        findings.push_back({problem, "old-server", "the server is older than PostgreSQL 13",
                            "it has no 64-bit transaction ids: the store does not work on it",
                            "# upgrade it with pg_upgrade"});
    }
    if (facts.in_recovery) {
        findings.push_back({problem, "standby", "the server is a standby, which only reads",
                            "nothing can be stored",
                            "# name the primary, or both and let libpq choose:\n"
                            "# store = \"postgresql://a,b/db?target_session_attrs=read-write\""});
    }
}

/// Sessions of servers wait for a standby that is named, whatever synchronous_commit says for others.
void look_at_standbys(const Facts& facts, Findings& findings) {
    const std::string names = setting(facts, "synchronous_standby_names");
    const std::string commit = setting(facts, "synchronous_commit");
    const bool is_weak = commit == "local" || commit == "off";
    const std::string turn_on = set_to("synchronous_commit", "on");
    if (!names.empty() && facts.synchronous_standbys == 0) {
        findings.push_back(
            {problem, "no-synchronous-standby",
             "synchronous_standby_names is \"" + names + "\" and no such standby is connected",
             is_weak ? "every commit of a server waits until one is; those of others do not, for "
                       "their synchronous_commit is " +
                           commit
                     : "every commit waits until one is",
             "select application_name, state, sync_state from pg_stat_replication;\n"
             "-- to go on without: " +
                 set_to("synchronous_standby_names", "")});
    } else if (facts.standbys > 0 && names.empty()) {
        findings.push_back(
            {note, "asynchronous-standbys",
             "commits do not wait for any of the " + std::to_string(facts.standbys) + " standbys",
             "a failover may lose what was acknowledged in the last moments",
             set_to("synchronous_standby_names", "ANY 1 (*)") + (is_weak ? "\n" + turn_on : "")});
    }
    if (!names.empty() && commit == "local") {
        findings.push_back(
            {warning, "weak-setting",
             "synchronous_commit is local and synchronous_standby_names is \"" + names + "\"",
             "sessions of servers wait for a standby all the same; who publishes by SQL is "
             "refused, unless it says relaxed: then a failover may lose what it committed",
             turn_on});
    }
}

void look_at_tables(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    for (const Table& table : facts.tables) {
        const std::string name = options.schema + "." + table.name;
        if (!table.autovacuum) {
            findings.push_back({warning, "no-autovacuum", "autovacuum is off for " + name,
                                "it grows with every message",
                                "alter table " + name + " reset (autovacuum_enabled);"});
        }
        if (table.dead_rows >= options.dead_rows && table.dead_rows > 3 * table.vacuum_at) {
            findings.push_back(
                {warning, "bloat",
                 name + " has " + detail::grouped(table.dead_rows) + " dead rows beside " +
                     detail::grouped(table.rows) + " live ones, " +
                     detail::grouped((table.table_bytes + table.index_bytes) / kMiB) +
                     " MiB; autovacuum should come at " + detail::grouped(table.vacuum_at),
                 "autovacuum does not keep up, or something holds xmin: reads become slow",
                 "vacuum (verbose, analyze) " + name +
                     ";\n-- it says what it could not remove; then, if it stays large:\n"
                     "reindex table concurrently " +
                     name + ";"});
        }
        if (table.frozen_age > 1'000'000'000) {
            findings.push_back({warning, "wraparound",
                                name + " has rows " + detail::grouped(table.frozen_age) +
                                    " transactions old that are not frozen",
                                "at two thousand million the server stops writing",
                                "vacuum (freeze, verbose) " + name + ";"});
        }
    }
}

void look_at_the_way(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    if (facts.pooler != Pooler::none) {
        const bool by_transaction = facts.pooler == Pooler::transaction;
        findings.push_back(
            {warning, by_transaction ? "transaction-pooler" : "session-pooler",
             "a pooler in " + std::string{by_transaction ? "transaction" : "session"} +
                 " mode is between this host and the database",
             "work goes on with less: no wake-ups, so that messages of others start up to "
             "engine.poll (1 s) later, nothing prepared, and three round trips instead of one",
             "# waybill.toml: the database itself; each server needs up to 10 connections\n"
             "store = \"postgresql://USER@HOST:5432/" +
                 facts.database + "\""});
    }
    const Duration apart = facts.skew < Duration{} ? -facts.skew : facts.skew;
    if (apart > options.clock_skew + facts.skew_error) {
        findings.push_back({apart > 1min ? problem : warning, "clock-skew",
                            "the database's clock is " + detail::about(apart) +
                                (facts.skew < Duration{} ? " behind" : " ahead of") +
                                " this host's",
                            "due times and retention go by the database; the signatures of "
                            "webhooks are checked by "
                            "this host's clock and refused when it is wrong",
                            "timedatectl set-ntp true      # on both hosts\nchronyc tracking"});
    }
    if (facts.connections_max > 0 && facts.connections * 10 >= facts.connections_max * 9) {
        findings.push_back({warning, "connections",
                            detail::grouped(facts.connections) + " of " +
                                detail::grouped(facts.connections_max) + " connections are in use",
                            "who comes next is refused, instances that reconnect included",
                            "select usename, application_name, state, count(*) from "
                            "pg_stat_activity group by 1, 2, 3 order by 4 desc;\n"
                            "alter system set max_connections = " +
                                std::to_string(facts.connections_max * 2) +
                                ";   -- after a restart"});
    }
    if (!facts.sees_sessions) {
        findings.push_back({note, "sees-little",
                            "role " + facts.user + " does not see what others do",
                            "transactions of other roles are missing from this list",
                            "grant pg_read_all_stats to \"" + facts.user + "\";"});
    }
}

}  // namespace

void look_at_server(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    look_at_settings(facts, findings);
    look_at_standbys(facts, findings);
    look_at_holders(facts, options, findings);
    look_at_blockers(facts, findings);
    look_at_publishers(facts, findings);
    look_at_tables(facts, options, findings);
    look_at_the_way(facts, options, findings);
}

}  // namespace waybill::postgres::doctor
