#include "core/work_findings.hpp"

#include "core/wording.hpp"

namespace waybill::detail {

using namespace std::chrono_literals;
using enum Finding::Severity;

std::string about(Duration duration) {
    const Duration unit = duration < 10s    ? Duration{1ms}
                          : duration < 3min ? 1s
                          : duration < 3h   ? 1min
                                            : 1h;
    return readable(duration / unit * unit);
}

Findings findings_of_work(const StoreHealth& health, Duration old_message,
                          const std::vector<std::string>& paused_boxes) {
    Findings findings;
    if (health.oldest_open >= old_message) {
        findings.push_back({warning, "old-message",
                            "the oldest open message has waited for " + about(health.oldest_open),
                            "handlers fail or are too slow, a lane is halted, or nobody works",
                            "waybill messages list --state open --limit 10\nwaybill lanes list"});
    }
    if (health.dead > 0) {
        findings.push_back({note, "dead-letters",
                            grouped(health.dead) +
                                (health.dead == 1 ? " dead letter waits" : " dead letters wait") +
                                " for a decision",
                            "nothing happens to them until somebody requeues or discards them",
                            "waybill dead list"});
    }
    for (const std::string& box : paused_boxes) {
        findings.push_back({note, "paused-box", "box " + in_quotes(box) + " is paused",
                            "nothing of it is started", "waybill boxes resume " + box});
    }
    return findings;
}

}  // namespace waybill::detail
