#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/secret.hpp"
#include "transport/http_out/egress.hpp"
#include "waybill/box.hpp"
#include "waybill/problems.hpp"
#include "waybill/source.hpp"
#include "waybill/subscription.hpp"
#include "waybill/target.hpp"

/// waybill.toml as values. The names of its keys are fixed by docs/reference/configuration.md.
namespace waybill::server {

/// [engine]
struct EngineConfig {
    Duration lease = std::chrono::seconds{5};
    std::uint64_t window = 64ULL << 20;
    Duration poll = std::chrono::seconds{1};
    Duration shutdown_timeout = std::chrono::seconds{30};

    bool operator==(const EngineConfig&) const = default;
};

/// [server] claims: who publishes, and for which tenant, is said by a token that somebody else has
/// issued.
struct ClaimsConfig {
    /// The claim that names the tenant, and the one that names the user. Empty: the body says it.
    std::string tenant{};
    std::string user{};
    /// HS256. Empty: no such tokens.
    std::string jwt_secret{};

    bool operator==(const ClaimsConfig&) const = default;
};

/// [server]
struct ServerConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;
    std::uint64_t body_max = 1ULL << 20;
    std::uint64_t header_max = 16ULL << 10;
    std::uint32_t connections_max = 10'000;
    std::uint32_t connections_per_address = 0;
    double requests_per_address = 0;
    std::uint64_t body_rate_min = 1024;
    std::uint32_t waiting_max = 100'000;
    std::string tls_cert{};
    std::string tls_key{};
    std::vector<std::string> admin_tokens{};
    ClaimsConfig claims{};

    bool operator==(const ServerConfig&) const = default;
};

/// Where it listens: "https://[::1]:8443", "http://0.0.0.0:8080".
std::string address_of(const ServerConfig& server, std::uint16_t port);
/// Where it is reached from this host: "http://127.0.0.1:8080".
std::string url_of(const ServerConfig& server, std::uint16_t port);

/// [boxes.NAME]
struct BoxConfig {
    std::string name{};
    BoxOptions options{};

    bool operator==(const BoxConfig&) const = default;
};

/// "inbox" and "outbox" with their defaults, where they are not described. Nobody need be interested
/// in what an outbox says.
void add_default_boxes(std::vector<BoxConfig>& boxes);

/// [[targets]]
struct TargetConfig {
    Target target{};
    TargetOptions options{};
    /// Exactly one of the three says what is done.
    std::string url{};
    std::vector<std::string> command{};
    bool log = false;
    /// url: what we sign with. Empty: unsigned.
    std::string secret{};

    bool operator==(const TargetConfig&) const = default;
};

/// [egress]
struct EgressConfig {
    /// Without our own addresses.
    http_out::Egress rules{};
    std::uint64_t response_max = std::uint64_t{64} << 10;
    /// PEM; empty: whom the system trusts, and nothing of ours.
    std::string ca{};
    std::string client_cert{};
    std::string client_key{};
    /// "http://host:port"; empty: none.
    std::string proxy{};

    bool operator==(const EgressConfig&) const = default;
};

/// [secrets]
struct SecretsConfig {
    /// "env:WEBHOOK_SECRET_{tenant}"; empty: tenants have none of their own.
    std::string tenant_pattern{};
    Duration cache_ttl = std::chrono::minutes{5};
    /// Where it is found what subscriptions' secrets are sealed with in the store: "env:NAME". Empty: they
    /// are not.
    std::string key{};

    bool operator==(const SecretsConfig&) const = default;
};

/// [telemetry]
struct TelemetryConfig {
    /// GET /metrics
    bool prometheus = true;

    bool operator==(const TelemetryConfig&) const = default;
};

/// Everything, checked.
struct Config {
    std::string store = "sqlite:waybill.db";
    bool relaxed_durability = false;
    Duration busy_timeout = std::chrono::seconds{2};
    std::string instance = "auto";
    EngineConfig engine{};
    ServerConfig server{};
    TelemetryConfig telemetry{};
    EgressConfig egress{};
    SecretsConfig secrets{};
    std::vector<Source> sources{};
    std::vector<BoxConfig> boxes{};
    std::vector<TargetConfig> targets{};
    /// Those that stand in the file.
    std::vector<Subscription> subscriptions{};
    /// The variables that secrets were read from ("env:NAME"): nobody's business but ours.
    std::vector<std::string> secret_variables{};

    bool operator==(const Config&) const = default;
};

/// A relative file of a configuration lies beside it, from wherever somebody asks.
std::string store_beside(const std::string& config_file, const std::string& url);
/// Why nothing can be opened there; empty: it is the URL of a store.
std::string problem_of_store(const std::string& url);
/// Why it may not listen there; empty: it may.
std::string problem_of_tokens(const ServerConfig& server);

bool has_target(const Config& config, const std::string& box, const std::string& key);

/// A configuration that can be used, and what a person should know of it.
struct LoadedConfig {
    Config config{};
    Problems warnings{};
    /// What is in force, as TOML with secrets masked.
    std::string effective{};
    /// "waybill.toml:3: server.listen: " by "server.listen": for what is found out later.
    std::map<std::string, std::string> places{};

    std::string place(const std::string& key) const;
};

/// Reads TOML. Throws ConfigError with all problems at once, each with file, line, key and remedy.
/// Secrets that are unneeded are not looked up: what is there instead is good for nothing.
LoadedConfig load_config(std::string_view text, const std::string& file,
                         const Environment& environment, Secrets secrets = Secrets::needed);
/// The same from a file.
LoadedConfig load_config_file(const std::string& file, const Environment& environment,
                              Secrets secrets = Secrets::needed);

}  // namespace waybill::server
