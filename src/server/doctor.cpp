#include "server/doctor.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/wording.hpp"
#include "server/store_access.hpp"
#include "server/unserved.hpp"
#include "server/unusable.hpp"
#include "waybill/problems.hpp"
#include "waybill/sqlite/doctor.hpp"

namespace waybill::server {
namespace {

Finding unserved_finding(const Target& target, std::uint64_t waiting) {
    return {.severity = waiting > 0 ? Finding::Severity::warning : Finding::Severity::note,
            .name = "unserved-target",
            .what = text_of(UnservedTarget{target.box, target.key, waiting}),
            .means = "what it matches is not done before it is",
            .fix = "waybill targets forget " + target.key + " --box " + target.box +
                   "   # if it is gone for good"};
}

/// What its server would not serve.
void add_unserved(const Config& config, const std::vector<sqlite::Waiting>& registry,
                  Findings& findings) {
    for (const sqlite::Waiting& one : registry) {
        const bool is_replaced = std::ranges::any_of(registry, [&](const sqlite::Waiting& other) {
            return took_over(other.target, one.target);
        });
        if (is_replaced || is_served(config, one.target)) continue;
        findings.push_back(unserved_finding(one.target, one.waiting));
    }
}

/// Only a configuration can say which subscriptions left it, and has the key of those that are in the store.
void add_subscriptions(const DoctorRequest& request, Findings& findings) {
    if (!request.config) return;
    Config config = *request.config;
    config.store = request.store;
    try {
        std::ranges::move(findings_of(unusable_subscriptions(config)),
                          std::back_inserter(findings));
        if (!is_shared(config.store)) return;
        const StoreHandle store = open_store(config.store, store_options(config))->connect();
        for (const Target& target : store.catalogue()->targets()) {
            if (!is_of_a_file(target.key) || is_served(config, target)) continue;
            findings.push_back(unserved_finding(target, store.catalogue()->waiting_for(target)));
        }
    } catch (const ConfigError& error) {
        findings.push_back({.severity = Finding::Severity::problem,
                            .name = "sealing-key",
                            .what = error.what(),
                            .means = "no server starts with it",
                            .fix = "waybill check"});
    } catch (const StoreError&) {
        // What is wrong with the store is among the findings.
    }
}

}  // namespace

Findings examine(const DoctorRequest& request) {
    const auto in_order = [&](Findings findings) {
        add_subscriptions(request, findings);
        std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::severity);
        return findings;
    };
    if (const std::string file = file_of(request.store); !file.empty()) {
        sqlite::Examined seen = sqlite::examine(file, {.old_message = request.old_message});
        if (request.config) add_unserved(*request.config, seen.targets, seen.findings);
        return in_order(std::move(seen.findings));
    }
#ifdef WAYBILL_WITH_POSTGRES
    if (is_shared(request.store)) return in_order(examine_postgres(request));
#endif
    throw ConfigError{{"store: " + (request.store == "memory:"
                                        ? "what is in memory belongs to its process alone; ask its "
                                          "/readyz and /metrics"
                                        : problem_of_store(request.store))}};
}

}  // namespace waybill::server
