#include <algorithm>
#include <iterator>

#include "core/wording.hpp"
#include "core/work_findings.hpp"
#include "doctor.hpp"

/// What is so in the store: its schema, its rights, who works on it, what waits.
namespace waybill::postgres::doctor {
namespace {

using enum Finding::Severity;

std::string list_of(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
    return list;
}

void look_at_schema(const Facts& facts, Findings& findings) {
    const Schema& schema = facts.schema;
    if (!facts.breaking_migrations.empty()) {
        findings.push_back({problem, "newer-schema",
                            "the schema has breaking migrations of a later version: " +
                                list_of(facts.breaking_migrations),
                            "this version refuses to work on it",
                            "# run the version that applied them\nwaybill --version"});
    } else if (schema.version > schema.newest) {
        findings.push_back({note, "newer-schema",
                            "the schema is of version " + std::to_string(schema.version) +
                                ", this program knows " + std::to_string(schema.newest),
                            "a later version has added to it; both work side by side", ""});
    }
    if (!facts.changed_migrations.empty()) {
        findings.push_back(
            {problem, "changed-migrations",
             "migrations were applied with another text: " + list_of(facts.changed_migrations),
             "the schema was made by a different build, and this one refuses it",
             "# run the build that made it, or name another database\n"
             "waybill check"});
    }
    if (facts.has_schema && schema.missing.empty()) return;
    const bool is_new = !facts.has_schema || schema.version == 0;
    findings.push_back(
        {problem, is_new ? "no-schema" : "stale-schema",
         is_new ? "database " + detail::in_quotes(facts.database) + " has no tables of ours"
                : "the schema is of version " + std::to_string(schema.version) + " of " +
                      std::to_string(schema.newest) + "; missing: " + list_of(schema.missing),
         "nobody can publish into it or work on it with this version",
         "waybill migrate          # as the owner of the schema; or, where only psql is that:\n"
         "# waybill migrate --dry-run | psql -v ON_ERROR_STOP=1 'postgresql://OWNER@…'"});
    if (facts.may_migrate) return;
    findings.push_back({problem, "may-not-migrate",
                        "role " + facts.user + " may not " +
                            (!facts.has_schema ? "create a schema in the database"
                             : is_new          ? "create tables in the schema"
                                               : "change the schema: it is another role's"),
                        "a server with this role does not start before somebody else has migrated",
                        "waybill migrate --store 'postgresql://OWNER@…'"});
}

void look_at_days(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    if (facts.missing_days.empty()) return;
    findings.push_back(
        {warning, "missing-days",
         "messages of " + list_of(facts.missing_days) + " have no table of their own",
         "they are kept in the table for the rest, from where they are removed one by one instead "
         "of by the day; nothing is lost. Servers make 14 days ahead: has none run for long, or "
         "may its role not?",
         "-- as the owner of the schema; a day that has begun without its table stays without\n"
         "select " +
             options.schema + ".make_days(14, 15);"});
}

std::string quoted(const std::string& name) {
    return "\"" + name + "\"";
}

std::string grant_of(const Lack& lack, const std::string& schema, const std::string& role) {
    const std::string object = lack.kind == "schema" ? "schema " + quoted(schema)
                               : lack.kind == "function"
                                   ? "function " + lack.object
                                   : lack.kind + " " + quoted(schema) + "." + quoted(lack.object);
    return "grant " + lack.privilege + " on " + object + " to " + quoted(role) + ";";
}

/// All at once where a role has next to nothing.
std::string grants_of(const std::vector<Lack>& lacks, const std::string& schema,
                      const std::string& role) {
    constexpr std::size_t kListed = 8;
    if (lacks.size() > kListed) {
        const std::string to = " in schema " + quoted(schema) + " to " + quoted(role) + ";\n";
        return "grant usage on schema " + quoted(schema) + " to " + quoted(role) + ";\n" +
               "grant select, insert, update, delete on all tables" + to +
               "grant usage, select on all sequences" + to + "grant execute on all functions" + to;
    }
    std::string grants;
    for (const Lack& lack : lacks) grants += grant_of(lack, schema, role) + "\n";
    return grants;
}

std::string lacks_text(const std::vector<Lack>& lacks) {
    std::vector<std::string> texts;
    for (const Lack& lack : lacks) {
        if (texts.size() == 3) break;
        texts.push_back(lack.privilege + " on " + lack.kind + " " + lack.object);
    }
    const std::size_t more = lacks.size() - texts.size();
    return list_of(texts) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

/// A role for people: it reads every table and writes none.
bool only_looks(const std::vector<Lack>& lacks) {
    const auto lacks_any = [&](const char* kind, const char* privilege) {
        return std::ranges::any_of(lacks, [&](const Lack& lack) {
            return lack.kind == kind && lack.privilege == privilege;
        });
    };
    return lacks_any("table", "insert") && lacks_any("table", "update") &&
           lacks_any("table", "delete") && !lacks_any("table", "select") &&
           !lacks_any("schema", "usage");
}

void look_at_rights(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    for (const std::string& role : facts.unknown_roles) {
        findings.push_back({problem, "no-role", "there is no role " + detail::in_quotes(role),
                            "what it may was not asked", "psql -c '\\du'   # who there is"});
    }
    const std::string& server = options.server.empty() ? facts.user : options.server;
    if (options.server.empty() && only_looks(facts.lacks)) {
        findings.push_back({note, "read-only-role", "role " + server + " may only look",
                            "whether the servers have the rights they need was not asked",
                            "waybill doctor --server ROLE"});
    } else if (!facts.lacks.empty()) {
        findings.push_back(
            {problem, "missing-privileges", "role " + server + " lacks " + lacks_text(facts.lacks),
             "a server with this role fails where it needs them",
             "-- as the owner of the schema:\n" + grants_of(facts.lacks, options.schema, server)});
    }
    if (!facts.publisher_lacks.empty()) {
        findings.push_back(
            {problem, "publisher-privileges",
             "role " + options.publisher + " lacks " + lacks_text(facts.publisher_lacks),
             "it cannot publish by " + options.schema + ".publish(…)",
             "-- as the owner of the schema:\n" +
                 grants_of(facts.publisher_lacks, options.schema, options.publisher)});
    }
}

/// Nothing depends on a name but what people make of it.
void look_at_names(const Facts& facts, Findings& findings) {
    std::map<std::string, std::size_t> names;
    for (const Instance& instance : facts.instances) {
        if (instance.seen.alive && !instance.seen.stopping) ++names[instance.seen.name];
    }
    for (const auto& [name, count] : names) {
        if (count == 1) continue;
        findings.push_back({note, "same-name",
                            std::to_string(count) + " live instances are called " + name,
                            "they work, but lists and logs do not tell them apart",
                            "# give each an `instance` of its own in its configuration, or "
                            "none at all"});
    }
}

void look_at_instances(const Facts& facts, Findings& findings) {
    using namespace std::chrono_literals;
    std::vector<std::string> versions;
    for (const Instance& instance : facts.instances) {
        if (!instance.seen.alive) continue;
        if (instance.knows != facts.schema.newest) versions.push_back(instance.seen.name);
        if (!instance.seen.refused.empty()) {
            findings.push_back(
                {problem, "refused",
                 instance.seen.name + ": the store has refused " + instance.seen.refused,
                 instance.seen.refused.starts_with("results")
                     ? "what it handled is not recorded and would run again elsewhere; its "
                       "partitions stand still"
                     : "its partitions stand still",
                 "# what it says after the last colon; if it is a right or a lock:\n"
                 "waybill doctor --server ROLE   # missing-privileges and blocked say how"});
        }
        // It has just begun, and is connecting.
        const bool is_young = instance.seen.last_beat - instance.seen.since < 5s;
        if (!instance.listener || (*instance.listener == 0 && is_young)) continue;
        if (*instance.listener != 0 && instance.listener_is_there) continue;
        findings.push_back(
            {warning, "lost-listen",
             instance.seen.name +
                 (*instance.listener == 0
                      ? " has no connection that wakes it: it was lost, or a pooler is in between"
                      : " listens on backend " + std::to_string(*instance.listener) +
                            ", which is not there: it was ended, or a pooler is in between"),
             "it hears of new messages by looking, up to engine.poll (1 s) later; none is lost",
             "select pid, state, query from pg_stat_activity where query ilike 'listen %';\n"
             "-- none: are there connections left, and does the store's URL lead to the database "
             "itself?"});
    }
    look_at_names(facts, findings);
    if (!versions.empty()) {
        findings.push_back({note, "two-versions",
                            "instances of another version work on it: " + list_of(versions),
                            "that is meant to work, for as long as a rolling upgrade takes", ""});
    }
    if (facts.partitions_of_dead > 0) {
        findings.push_back({warning, "dead-owners",
                            detail::grouped(facts.partitions_of_dead) +
                                " partitions belong to instances that are dead",
                            "their messages wait until a live instance takes them: with its next "
                            "beat, or, if it has just started, after one lease (5 s, unless "
                            "engine.lease says otherwise); if this stays, none that lives attends "
                            "their boxes, or none can store that it lives",
                            "waybill instances list"});
    }
}

void look_at_work(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    const bool anybody = std::ranges::any_of(
        facts.instances, [](const Instance& instance) { return instance.seen.alive; });
    const std::uint64_t open = facts.health.open;
    if (!anybody && facts.schema.version > 0) {
        findings.push_back({open > 0 ? warning : note, "nobody-works",
                            "no instance lives; " + detail::grouped(open) +
                                (open == 1 ? " message is open" : " messages are open"),
                            "what is published is kept and not handled", "waybill serve"});
    }
    for (const auto& [target, waiting] : facts.unserved) {
        if (!anybody) break;  // said already
        findings.push_back({waiting > 0 ? warning : note, "unserved-target",
                            "target " + detail::in_quotes(target.key) + " of box " +
                                detail::in_quotes(target.box) +
                                " is registered and no live instance serves it; " +
                                detail::grouped(waiting) +
                                (waiting == 1 ? " message waits" : " messages wait") + " for it",
                            "they are not done before it is",
                            "waybill targets forget " + target.key + " --box " + target.box +
                                "   # if it is gone for good"});
    }
    std::ranges::move(
        detail::findings_of_work(facts.health, options.old_message, facts.paused_boxes),
        std::back_inserter(findings));
}

}  // namespace

Findings diagnose(const Facts& facts, const DoctorOptions& options) {
    Findings findings;
    look_at_server(facts, options, findings);
    look_at_schema(facts, findings);
    look_at_days(facts, options, findings);
    look_at_rights(facts, options, findings);
    look_at_instances(facts, findings);
    look_at_work(facts, options, findings);
    for (const std::string& what : facts.not_seen) {
        findings.push_back({note, "not-seen", "could not look at " + what,
                            "what is wrong there is not in this list", ""});
    }
    std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::severity);
    return findings;
}

}  // namespace waybill::postgres::doctor
