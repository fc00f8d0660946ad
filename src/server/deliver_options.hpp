#pragma once

#include <optional>
#include <string>

#include "server/config/config.hpp"
#include "waybill/deliver.hpp"

namespace waybill::server {

/// What opens the secrets in the store; empty: they are not sealed. Throws ConfigError when it cannot be had.
std::string sealing_key_of(const Config& config);

/// How a deliverer of this configuration makes its requests.
DeliverOptions deliver_options_of(const Config& config);

/// A tenant's own secret, as `secrets.tenant_pattern` finds it now.
struct TenantSecret {
    std::optional<std::string> value{};
    /// Why there is none, with the name of what is missing.
    std::string problem{};
    /// It is not known whether there is one: a program failed. Then nothing else signs in its place.
    bool is_failure = false;
};
TenantSecret tenant_secret_of(const std::string& pattern, const std::string& tenant);

}  // namespace waybill::server
