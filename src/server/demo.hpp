#pragma once

#include <string>

#include "server/config/config.hpp"

namespace waybill::server {

/// What `waybill serve` does without a configuration: one source "demo" (generic HMAC) whose messages
/// are written to the log.
struct Demo {
    Config config{};
    std::string secret{};
};

/// The secret is made once and kept beside the store, so that it is the same after a restart.
Demo make_demo(const std::string& store_url);

}  // namespace waybill::server
