#include "server/deliver_options.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/wording.hpp"
#include "server/config/secret.hpp"
#include "server/egress.hpp"
#include "transport/http_out/http_out.hpp"

namespace waybill::server {
namespace {

/// A tenant is somebody else's text, and this names a variable, a file or a program.
bool may_name_a_secret(const std::string& tenant) {
    return !tenant.starts_with('.') && std::ranges::all_of(tenant, [](unsigned char letter) {
        return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
    });
}

}  // namespace

std::string sealing_key_of(const Config& config) {
    if (config.secrets.key.empty()) return {};
    FoundSecret found = find_secret(config.secrets.key, process_environment());
    if (!found.problem.empty()) {
        throw ConfigError{{"secrets.key: " + masked(config.secrets.key) + " " + found.problem}};
    }
    return found.value;
}

TenantSecret tenant_secret_of(const std::string& pattern, const std::string& tenant) {
    if (!may_name_a_secret(tenant)) {
        return {.problem = "the tenant " + detail::in_quotes(tenant) +
                           " names no secret: only letters, digits, -, _ and . may"};
    }
    constexpr std::string_view kTenant = "{tenant}";
    std::string reference = pattern;
    for (std::size_t at = reference.find(kTenant); at != std::string::npos;
         at = reference.find(kTenant, at + tenant.size())) {
        reference.replace(at, kTenant.size(), tenant);
    }
    FoundSecret found = find_secret(reference, process_environment());
    if (found.problem.empty()) return {.value = std::move(found.value)};
    // A variable or a file that is not there says that there is none; a program that failed says nothing.
    return {.problem = masked(reference) + " " + found.problem,
            .is_failure = reference.starts_with("cmd:")};
}

DeliverOptions deliver_options_of(const Config& config) {
    DeliverOptions options;
    options.egress = std::make_shared<const http_out::Egress>(egress_of(config));
    options.response_bytes_max = config.egress.response_max;
    options.ca_file = config.egress.ca;
    options.certificate_file = config.egress.client_cert;
    options.key_file = config.egress.client_key;
    options.proxy = config.egress.proxy;
    options.secret_ttl = config.secrets.cache_ttl;
    if (config.secrets.tenant_pattern.empty()) return options;
    options.tenant_secret = [pattern = config.secrets.tenant_pattern](const std::string& tenant) {
        TenantSecret found = tenant_secret_of(pattern, tenant);
        if (found.is_failure) throw std::runtime_error{found.problem};
        return std::move(found.value);
    };
    return options;
}

}  // namespace waybill::server
