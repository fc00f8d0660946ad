#pragma once

#include "server/config/config.hpp"
#include "transport/http_out/egress.hpp"

namespace waybill::server {

/// What the configuration allows, without the place where this server itself listens: a request there could
/// come back for ever.
http_out::Egress egress_of(const Config& config);

}  // namespace waybill::server
