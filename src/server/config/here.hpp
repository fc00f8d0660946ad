#pragma once

#include "server/config/config.hpp"
#include "waybill/time.hpp"

namespace waybill::server {

/// What only the machine that serves can say of a configuration: whether its addresses are this
/// machine's and its certificate can be used. That a port is taken is not looked at: whoever checks
/// beside a running server would hear of nothing else.
struct SaidHere {
    Problems problems{};
    Problems warnings{};
};
SaidHere check_here(const LoadedConfig& loaded, StoreTime now);

}  // namespace waybill::server
