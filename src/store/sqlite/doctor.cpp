#include "doctor.hpp"

#include <algorithm>
#include <iterator>

#include "core/wording.hpp"
#include "core/work_findings.hpp"

namespace waybill::sqlite::doctor {
namespace {

using enum Finding::Severity;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::string mebibytes(std::uint64_t bytes) {
    return detail::grouped(bytes / kMiB) + " MiB";
}

/// For a shell.
std::string quoted(const std::string& path) {
    std::string text = "'";
    for (const char c : path) text += c == '\'' ? std::string{"'\\''"} : std::string{c};
    return text + "'";
}

void look_at_file(const Facts& facts, const DoctorOptions& options, Findings& findings) {
    const std::string file = quoted(facts.path);
    if (!facts.is_mine) {
        findings.push_back({facts.may_write ? note : warning, "file-owner",
                            facts.path + " belongs to " + facts.owner + ", not to " + facts.user,
                            facts.may_write ? "commands work; a journal they leave belongs to "
                                              "another user than the server's"
                                            : "this user cannot write it",
                            "sudo -u " + facts.owner + " waybill doctor"});
    } else if (!facts.may_write) {
        findings.push_back({problem, "file-rights", "this user cannot write " + facts.path,
                            "nothing can be stored", "chmod u+rw " + file});
    }
    if (facts.is_public) {
        findings.push_back({warning, "file-rights", "others on this host may read " + facts.path,
                            "messages and secrets of others are in it",
                            "chmod go-rwx " + file + " " + file + "-wal " + file + "-shm"});
    }
    if (!facts.network.empty()) {
        findings.push_back({problem, "network-disk",
                            "the file is on a network file system (" + facts.network + ")",
                            "SQLite's locks do not hold there: two hosts may damage it",
                            "# move it to a local disk, while nobody has it open"});
    }
    if (facts.free_bytes < options.free_bytes) {
        findings.push_back({facts.free_bytes < options.free_bytes / 8 ? problem : warning,
                            "disk-space", "the disk has " + mebibytes(facts.free_bytes) + " left",
                            "when it is full nothing more is taken in; webhooks are answered 503",
                            "df -h " + file});
    }
    if (facts.journal_bytes > options.journal_bytes) {
        findings.push_back({warning, "large-journal",
                            "its journal has " + mebibytes(facts.journal_bytes),
                            "something reads the file for a long time and keeps the journal from "
                            "being copied into it",
                            "lsof " + file + "   # who has it open?"});
    }
    if (facts.unused_bytes > 64 * kMiB && facts.unused_bytes * 2 > facts.file_bytes) {
        findings.push_back(
            {note, "unused-pages",
             mebibytes(facts.unused_bytes) + " of " + mebibytes(facts.file_bytes) + " are unused",
             "new messages fill them; nothing is wrong",
             "sqlite3 " + file + " vacuum   # while no server has it open"});
    }
}

void look_at_tables(const Facts& facts, Findings& findings) {
    const std::string file = quoted(facts.path);
    if (!facts.damage.empty()) {
        findings.push_back({problem, "damage",
                            "the file is damaged: " + facts.damage.front() +
                                (facts.damage.size() > 1
                                     ? " (and " + std::to_string(facts.damage.size() - 1) + " more)"
                                     : ""),
                            "what is read from it may be wrong or missing",
                            "# stop the server, keep the file, restore a backup, or salvage:\n"
                            "cp " +
                                file + " " + file + ".damaged\nsqlite3 " + file +
                                " .recover | sqlite3 salvaged.db"});
    }
    if (facts.journal_mode != "wal") {
        findings.push_back({problem, "journal-mode",
                            "its journal_mode is " + facts.journal_mode + ", not wal",
                            "who reads blocks who writes, and somebody else has changed it",
                            "sqlite3 " + file + " 'pragma journal_mode = wal'"});
    }
    const Schema& schema = facts.schema;
    if (schema.version == 0) {
        findings.push_back({problem, "no-schema",
                            facts.path + (facts.tables_of_others.empty()
                                              ? " has no tables of ours"
                                              : " is a database of something else (table " +
                                                    facts.tables_of_others.front() + " …)"),
                            "it is no store yet", "waybill migrate --store sqlite:" + facts.path});
    } else if (!schema.missing.empty()) {
        findings.push_back({problem, "stale-schema",
                            "the file is of version " + std::to_string(schema.version) + " of " +
                                std::to_string(schema.newest),
                            "commands of this version refuse it; serve brings it to this one",
                            "waybill migrate --store sqlite:" + facts.path});
    } else if (schema.version > schema.newest) {
        findings.push_back({note, "newer-schema",
                            "the file is of version " + std::to_string(schema.version) +
                                ", this program knows " + std::to_string(schema.newest),
                            "a later version has added to it", ""});
    }
}

}  // namespace

Findings diagnose(const Facts& facts, const DoctorOptions& options) {
    if (!facts.exists) {
        return {{problem, "no-file", "there is no file " + facts.path,
                 "the store is made when it is first opened, or the path is wrong",
                 "waybill serve"}};
    }
    Findings findings;
    look_at_file(facts, options, findings);
    if (!facts.unreadable.empty()) {
        findings.push_back({problem, "unreadable", facts.unreadable,
                            "nobody can work with this file",
                            "ls -l " + quoted(facts.path) + "*\nfile " + quoted(facts.path)});
    } else {
        look_at_tables(facts, findings);
        std::ranges::move(
            detail::findings_of_work(facts.health, options.old_message, facts.paused_boxes),
            std::back_inserter(findings));
    }
    std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::severity);
    return findings;
}

}  // namespace waybill::sqlite::doctor
