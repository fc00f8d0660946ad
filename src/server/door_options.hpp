#pragma once

#include "server/config/config.hpp"
#include "transport/http_in/http_in.hpp"

namespace waybill::server {

/// What the configuration says about the door.
http_in::Options door_options(const Config& config);

}  // namespace waybill::server
