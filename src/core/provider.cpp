#include "waybill/provider.hpp"

namespace waybill {

std::string_view to_string(Rejected::Reason reason) {
    switch (reason) {
        case Rejected::Reason::missing: return "missing";
        case Rejected::Reason::malformed: return "malformed";
        case Rejected::Reason::mismatch: return "bad-signature";
        case Rejected::Reason::stale: return "stale";
        case Rejected::Reason::unreadable: return "unreadable-body";
        case Rejected::Reason::forbidden: return "forbidden";
        case Rejected::Reason::misconfigured: return "misconfigured";
    }
    return "refused";
}

}  // namespace waybill
