#include "server/doctor.hpp"

#include <algorithm>
#include <iostream>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "server/config/secret.hpp"
#include "server/config/units.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using Severity = Finding::Severity;

const char* name_of(Severity severity) {
    return severity == Severity::problem   ? "problem"
           : severity == Severity::warning ? "warning"
                                           : "note";
}

bool needs_doing(const Finding& finding) {
    return finding.severity != Severity::note;
}

std::string indented(const std::string& text, const std::string& by) {
    std::string out = by;
    for (const char c : text) {
        out += c;
        if (c == '\n') out += by;
    }
    while (out.ends_with(' ') || out.ends_with('\n')) out.pop_back();
    return out;
}

void print_finding(const Finding& finding) {
    std::cout << name_of(finding.severity) << ": " << printable(finding.what) << " ["
              << finding.name << "]\n  " << printable(finding.means) << "\n";
    if (!finding.fix.empty()) std::cout << indented(printable(finding.fix), "    ") << "\n";
    std::cout << "\n";
}

void print_json(const std::string& store, bool is_healthy, const Findings& findings) {
    json::Array items;
    for (const Finding& finding : findings) {
        items.emplace_back(Object{{"severity", name_of(finding.severity)},
                                  {"name", finding.name},
                                  {"what", finding.what},
                                  {"means", finding.means},
                                  {"fix", finding.fix}});
    }
    std::cout << json::to_text(Object{
                     {"store", store}, {"healthy", is_healthy}, {"findings", std::move(items)}})
              << "\n";
}

Duration duration_of(const Arguments& arguments, const std::string& name, Duration otherwise) {
    if (!arguments.has(name)) return otherwise;
    const auto given = server::parse_duration(arguments.value(name));
    if (!given) throw UsageError{"--" + name + " is a duration such as 30s"};
    return *given;
}

int doctor(const Arguments& arguments, const Globals& globals) {
    const AskedConfig asked = load_to_ask(globals);
    const std::string store = server::masked_url(asked.config.store);
    server::DoctorRequest request{.store = asked.config.store,
                                  .server = arguments.value("server"),
                                  .publisher = arguments.value("publisher")};
    request.old_transaction = duration_of(arguments, "transaction-age", request.old_transaction);
    request.old_message = duration_of(arguments, "message-age", request.old_message);
    // Without a file its server is the demo, or somebody else's.
    if (asked.problems.empty() && !config_file(globals).empty()) request.config = asked.config;
    const Findings findings = server::examine(request);
    const bool is_healthy = std::ranges::none_of(findings, needs_doing);
    if (arguments.has("json")) {
        print_json(store, is_healthy, findings);
        return is_healthy ? 0 : 1;
    }
    for (const Finding& finding : findings) print_finding(finding);
    std::cout << store << ": " << (is_healthy ? "healthy" : "see above, the worst first") << "\n";
    return is_healthy ? 0 : 1;
}

}  // namespace

Command doctor_command() {
    return {
        .name = "doctor",
        .summary = "Looks for what is wrong with the store, and says how to mend it",
        .usage = "doctor [--server ROLE] [--publisher ROLE] [OPTIONS]",
        .options = {{"server", "ROLE", "PostgreSQL: the servers' role; default: who asks"},
                    {"publisher", "ROLE", "PostgreSQL: look at the rights of this role, too"},
                    {"transaction-age", "DURATION",
                     "PostgreSQL: transactions open for longer are named; default 1m"},
                    {"message-age", "DURATION", "messages that wait for longer are; default 5m"},
                    {"json", "", "for programs"}},
        .examples =
            "  waybill doctor\n"
            "  waybill doctor --store postgresql://waybill@db/app --publisher shop\n"
            "  waybill doctor --json | jq '.findings[].fix' -r\n"
            "\nExit code 0: nothing has to be done; 1: warnings or problems.\n",
        .run = doctor};
}

}  // namespace waybill::cli
