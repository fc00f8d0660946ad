#pragma once

#include <string>

#include "server/config/config.hpp"
#include "server/config/section.hpp"

/// The parts of a configuration, each read by a file of its own.
namespace waybill::server {

/// store, durability, busy_timeout
void read_store(Section& top, Config& config, const Reading& reading);
/// [server]
void read_server(Section& section, ServerConfig& server);
/// [sources.NAME]
void read_sources(Section& top, Config& config);
/// [egress]
void read_egress(Section section, EgressConfig& egress);
/// Why a URL may not be called, and what would allow it; empty: it may, or its host is a name.
std::string problem_of_egress(const EgressConfig& egress, const std::string& url);
/// [secrets]
void read_secrets(Section section, SecretsConfig& secrets);
/// [[subscriptions]]
void read_subscriptions(Section& top, Config& config, Reading& reading);
/// All of a subscription but its secrets, in a file or in a request.
void read_subscription(Section& section, Subscription& subscription);
/// retry = { … }
void read_retry(Section section, RetryPolicy& retry);
/// [[targets]]
void read_targets(Section& top, Config& config, Reading& reading);

/// What the door would not open with; after all that it depends on.
void check_door(Section& section, const Config& config);
/// A box is there when it is described, and "inbox" and "outbox" always.
void check_box(Section& section, const std::string& box, const Config& config);

}  // namespace waybill::server
