#include "waybill/console.hpp"

namespace waybill {
namespace {

std::string of_message(const Event& event) {
    std::string text = "message " + to_string(event.message);
    if (!event.target.empty()) text += " for " + std::string{event.target};
    return text;
}

std::string because(const Event& event) {
    return event.text.empty() ? std::string{} : ": " + std::string{event.text};
}

}  // namespace

std::string describe(const Event& event) {
    using Kind = Event::Kind;
    switch (event.kind) {
        case Kind::failed:
            return of_message(event) + " failed, attempt " + std::to_string(event.count) +
                   because(event);
        case Kind::timed_out: return of_message(event) + " ran into its timeout";
        case Kind::died: return of_message(event) + " is a dead letter" + because(event);
        case Kind::parked: return of_message(event) + " is parked: no registered target matches it";
        case Kind::halted:
            return of_message(event) + " halts its lane, until it is requeued or skipped";
        case Kind::struck:
            return of_message(event) + " was alone in flight when its process died, strike " +
                   std::to_string(event.count) + " of 3";
        case Kind::fused:
            return event.count == 0 ? "runs as usual again"
                                    : "runs carefully after crashes, so many at a time: " +
                                          std::to_string(event.count);
        case Kind::settle_failed: return "results are not stored yet" + because(event);
        case Kind::settle_unstorable:
            return of_message(event) + " has a text that could not be stored; it was replaced";
        case Kind::read_failed: return "the store could not be read" + because(event);
        case Kind::beat_failed: return "the lease could not be renewed" + because(event);
        case Kind::accepted: return "the store takes " + std::string{event.text} + " again";
        case Kind::lease_late: return "the lease ran out: nothing is started until it is renewed";
        case Kind::lease_renewed: return "the lease is renewed";
        case Kind::reconciled:
            return of_message(event) + " was found by the slow check only; please report this";
        case Kind::resigned:
            return "resigned: too many handlers are stuck past their deadline; restart this "
                   "process";
        case Kind::hook_failed: return "a stop hook failed" + because(event);
        case Kind::lost:
            return "partition " + std::to_string(event.partition) + " is no longer owned";
        case Kind::rescan: return "the store was reconnected to or restored: all is read again";
        default: return {};
    }
}

void Console::on_event(const Event& event) noexcept {
    try {
        if (const std::string line = describe(event); !line.empty()) {
            std::fprintf(out_, "waybill: %s\n", line.c_str());
        }
    } catch (...) {
        // No memory for a line; there will be others.
    }
}

}  // namespace waybill
