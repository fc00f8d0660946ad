#include "waybill/health.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/wording.hpp"

namespace waybill {
namespace {

using State = Health::State;

struct Verdicts {
    std::vector<std::string> unhealthy{};
    std::vector<std::string> degraded{};

    void measure(std::string_view what, std::uint64_t value, std::uint64_t degraded_from,
                 std::uint64_t unhealthy_from) {
        auto& list = value >= unhealthy_from ? unhealthy : degraded;
        if (value >= std::min(degraded_from, unhealthy_from)) {
            list.push_back(detail::grouped(value) + " " + std::string{what});
        }
    }
};

void judge_status(const Status& status, Verdicts& verdicts) {
    if (!status.started) {
        verdicts.degraded.push_back("not started: messages are kept, nothing is handled");
        return;
    }
    if (status.resigned) {
        verdicts.unhealthy.push_back(
            "resigned: too many handlers are stuck past their deadline; restart this process");
    } else if (status.late) {
        verdicts.unhealthy.push_back(
            "the lease ran out: it was not renewed in time" +
            (status.refused.empty() ? "" : "; the store has refused " + status.refused));
    } else if (!status.refused.empty()) {
        verdicts.unhealthy.push_back("the store has refused " + status.refused);
    } else if (!status.ready) {
        verdicts.degraded.push_back("not ready yet: no answer from the store so far");
    }
    if (status.careful) {
        verdicts.degraded.push_back(
            "runs carefully, few messages at a time: processes died while they had work; see what "
            "killed them");
    }
    if (status.ghosts > 0) {
        verdicts.degraded.push_back(detail::grouped(status.ghosts) +
                                    " handlers run past their deadline");
    }
    if (status.reconciled > 0) {
        verdicts.unhealthy.push_back(detail::grouped(status.reconciled) +
                                     " messages were found by the slow check only; report this");
    }
}

}  // namespace

Health judge(const Status& status, const StoreHealth& store, const HealthLimits& limits) {
    Verdicts verdicts;
    if (!store.reachable) verdicts.unhealthy.push_back("the store is not reachable: " + store.text);
    judge_status(status, verdicts);
    verdicts.measure("messages are open", store.open, limits.open_degraded, limits.open_unhealthy);
    verdicts.measure("dead letters wait for a decision", store.dead, limits.dead_degraded,
                     limits.dead_unhealthy);
    if (store.parked >= limits.parked_degraded) {
        verdicts.degraded.push_back(detail::grouped(store.parked) +
                                    " messages are parked: no registered target matches them");
    }
    if (store.oldest_open >= limits.lag_degraded) {
        auto& list =
            store.oldest_open >= limits.lag_unhealthy ? verdicts.unhealthy : verdicts.degraded;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(store.oldest_open);
        list.push_back("the oldest open message has waited " + detail::readable(seconds));
    }

    Health health{.status = status, .store = store};
    health.state = !verdicts.unhealthy.empty()  ? State::unhealthy
                   : !verdicts.degraded.empty() ? State::degraded
                                                : State::healthy;
    health.reasons = std::move(verdicts.unhealthy);
    health.reasons.insert(health.reasons.end(), verdicts.degraded.begin(), verdicts.degraded.end());
    return health;
}

}  // namespace waybill
