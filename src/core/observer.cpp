#include "waybill/observer.hpp"

namespace waybill {

std::string_view to_string(Event::Kind kind) {
    using Kind = Event::Kind;
    switch (kind) {
        case Kind::owned: return "owned";
        case Kind::scanned: return "scanned";
        case Kind::lost: return "lost";
        case Kind::given: return "given";
        case Kind::lease_late: return "lease_late";
        case Kind::lease_renewed: return "lease_renewed";
        case Kind::rescan: return "rescan";
        case Kind::started: return "started";
        case Kind::done: return "done";
        case Kind::failed: return "failed";
        case Kind::deferred: return "deferred";
        case Kind::died: return "died";
        case Kind::released: return "released";
        case Kind::timed_out: return "timed_out";
        case Kind::ghost_returned: return "ghost_returned";
        case Kind::finished: return "finished";
        case Kind::parked: return "parked";
        case Kind::unparked: return "unparked";
        case Kind::collapsed: return "collapsed";
        case Kind::halted: return "halted";
        case Kind::resumed: return "resumed";
        case Kind::struck: return "struck";
        case Kind::fused: return "fused";
        case Kind::settle_failed: return "settle_failed";
        case Kind::settle_unstorable: return "settle_unstorable";
        case Kind::read_failed: return "read_failed";
        case Kind::beat_failed: return "beat_failed";
        case Kind::accepted: return "accepted";
        case Kind::behind: return "behind";
        case Kind::caught_up: return "caught_up";
        case Kind::reconciled: return "reconciled";
        case Kind::resigned: return "resigned";
        case Kind::hook_failed: return "hook_failed";
        case Kind::stopped: return "stopped";
    }
    return "unknown";
}

}  // namespace waybill
