#include "server/doctor.hpp"

#include <algorithm>
#include <filesystem>

#include "core/wording.hpp"
#include "server/store_access.hpp"
#include "server/unserved.hpp"
#include "waybill/problems.hpp"
#include "waybill/sqlite/doctor.hpp"

namespace waybill::server {
namespace {

/// What its server would not serve.
void add_unserved(const Config& config, const std::vector<sqlite::Waiting>& registry,
                  Findings& findings) {
    for (const sqlite::Waiting& one : registry) {
        const bool is_replaced = std::ranges::any_of(registry, [&](const sqlite::Waiting& other) {
            return took_over(other.target, one.target);
        });
        if (is_replaced || is_served(config, one.target)) continue;
        const UnservedTarget unserved{one.target.box, one.target.key, one.waiting};
        findings.push_back(
            {.severity = one.waiting > 0 ? Finding::Severity::warning : Finding::Severity::note,
             .name = "unserved-target",
             .what = text_of(unserved),
             .means = "what it matches is not done before it is",
             .fix = "waybill targets forget " + one.target.key + " --box " + one.target.box +
                    "   # if it is gone for good"});
    }
}

}  // namespace

Findings examine(const DoctorRequest& request) {
    const std::string file = file_of(request.store);
    if (!file.empty()) {
        sqlite::Examined seen = sqlite::examine(file, {.old_message = request.old_message});
        if (request.config) add_unserved(*request.config, seen.targets, seen.findings);
        std::ranges::stable_sort(seen.findings, std::ranges::greater{}, &Finding::severity);
        return std::move(seen.findings);
    }
#ifdef WAYBILL_WITH_POSTGRES
    if (is_shared(request.store)) return examine_postgres(request);
#endif
    throw ConfigError{{"store: " + (request.store == "memory:"
                                        ? "what is in memory belongs to its process alone; ask its "
                                          "/readyz and /metrics"
                                        : problem_of_store(request.store))}};
}

}  // namespace waybill::server
