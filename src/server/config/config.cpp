#include "server/config/config.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include <sys/stat.h>

#include "server/config/advice.hpp"
#include "server/config/section.hpp"
#include "server/config/units.hpp"
#include "waybill/providers.hpp"

namespace waybill::server {
namespace {

bool is_folder(const std::string& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

void read_store(Section& top, Config& config) {
    top.text("store", config.store);
    if (!config.store.starts_with("sqlite:") && config.store != "memory:") {
        top.problem("store", in_quotes(config.store) +
                                 " is not a store of this version; use \"sqlite:PATH\" or "
                                 "\"memory:\"");
    }
    const std::size_t folder_end = config.store.rfind('/');
    if (config.store.starts_with("sqlite:") && folder_end != std::string::npos) {
        const std::string folder = config.store.substr(7, folder_end + 1 - 7);
        if (!is_folder(folder)) {
            top.problem("store", "there is no folder " + in_quotes(folder) +
                                     "; make it, or name a file elsewhere");
        }
    }
    top.choice("durability", config.relaxed_durability, {{"strict", false}, {"relaxed", true}});
    top.duration("busy_timeout", config.busy_timeout);
    if (config.busy_timeout < std::chrono::milliseconds{1} ||
        config.busy_timeout > std::chrono::minutes{10}) {
        top.problem("busy_timeout", "must be \"1ms\" … \"10m\"");
    }
    top.text("instance", config.instance);
}

void read_engine(Section section, EngineConfig& engine) {
    section.duration("lease", engine.lease);
    section.size("window", engine.window);
    section.duration("poll", engine.poll);
    section.duration("shutdown_timeout", engine.shutdown_timeout);
    using namespace std::chrono_literals;
    if (engine.lease < 100ms || engine.lease > 10min) {
        section.problem("lease", "must be \"100ms\" … \"10m\"");
    }
    if (engine.window < 64U << 10) section.problem("window", "must be at least \"64KiB\"");
    if (engine.poll < 1ms || engine.poll > 10min) {
        section.problem("poll", "must be \"1ms\" … \"10m\"");
    }
    section.finish();
}

bool is_loopback(const std::string& host) {
    return host.starts_with("127.") || host == "localhost" || host == "::1";
}

void read_server(Section section, ServerConfig& server) {
    std::string listen = server.host + ":" + std::to_string(server.port);
    section.text("listen", listen);
    if (auto place = parse_host_port(listen)) {
        server.host = place->host;
        server.port = place->port;
    } else {
        section.problem("listen",
                        in_quotes(listen) + " is not HOST:PORT, such as \"127.0.0.1:8080\"");
    }
    section.size("body_max", server.body_max);
    section.size("header_max", server.header_max);
    section.number("connections_max", server.connections_max, 1, 1'000'000);
    section.number("connections_per_address", server.connections_per_address, 0, 1'000'000);
    section.rate("requests_per_address", server.requests_per_address);
    section.size("body_rate_min", server.body_rate_min);
    section.number("waiting_max", server.waiting_max, 1, 10'000'000);
    Section tls = section.table("tls");
    tls.text("cert", server.tls_cert);
    tls.text("key", server.tls_key);
    tls.finish();
    if (server.tls_cert.empty() != server.tls_key.empty()) {
        section.problem("tls", "needs both cert and key, the names of PEM files");
    }
    section.secrets("admin_tokens", server.admin_tokens);
    if (const std::string problem = problem_of_tokens(server); !problem.empty()) {
        section.problem("admin_tokens", problem);
    }
    section.later("claims", "tenants from a JWT");
    section.finish();
}

void read_telemetry(Section section, TelemetryConfig& telemetry) {
    section.boolean("prometheus", telemetry.prometheus);
    section.later("otlp", "traces");
    section.finish();
}

void read_source(Section section, Source& source) {
    section.text("provider", source.provider);
    section.secrets("secrets", source.secrets);
    section.duration("tolerance", source.tolerance);
    section.text("box", source.box);
    section.text("path", source.path);
    section.text("public_url", source.public_url);
    section.text("webhook_id", source.webhook_id);
    section.secret("verify_token", source.verify_token);
    section.text("event_type", source.event_type);
    section.text("event_id", source.event_id);
    section.text("lane", source.lane);
    section.text("tenant", source.tenant);
    section.texts("keep_headers", source.keep_headers);
    section.boolean("cloudevents", source.cloudevents);
    section.choice("gzip", source.gzip,
                   {{"refused", Gzip::refused},
                    {"signed-as-sent", Gzip::signed_as_sent},
                    {"signed-inside", Gzip::signed_inside}});
    SignatureOptions& signature = source.signature;
    section.text("signature_header", signature.header);
    section.text("signature_prefix", signature.prefix);
    section.text("signature_algorithm", signature.algorithm);
    section.text("signature_encoding", signature.encoding);
    section.text("signed_string", signature.signed_string);
    section.text("timestamp", signature.timestamp);
    section.text("timestamp_unit", signature.timestamp_unit);
    section.text("secret_form", signature.secret_form);
    section.finish();

    if (const auto provider = providers::find(source.provider)) {
        for (const std::string& text : provider->check(source)) section.problem({}, text);
        return;
    }
    std::vector<std::string> keys;
    for (const std::string_view key : providers::keys()) keys.emplace_back(key);
    const std::string close = nearest(source.provider, keys);
    section.problem("provider", in_quotes(source.provider) + " is not a provider" +
                                    (close.empty() ? "; use \"generic\""
                                                   : "; did you mean " + in_quotes(close) + "?"));
}

BoxOptions defaults_of(const std::string& box) {
    BoxOptions options;
    if (box == "outbox") options.unmatched = Unmatched::done;
    return options;
}

void read_box(Section section, BoxConfig& box) {
    BoxOptions& options = box.options;
    options = defaults_of(box.name);
    section.choice(
        "lanes", options.lanes,
        {{"none", Lanes::none}, {"exclusive", Lanes::exclusive}, {"strict", Lanes::strict}});
    section.choice("on_dead", options.on_dead,
                   {{"advance", OnDead::advance}, {"halt", OnDead::halt}});
    section.choice(
        "unmatched", options.unmatched,
        {{"park", Unmatched::park}, {"done", Unmatched::done}, {"dead", Unmatched::dead}});
    section.duration("dedup_window", options.dedup_window);
    section.duration("keep_done", options.keep_done);
    section.duration("keep_dead", options.keep_dead);
    section.choice("attempts_log", options.attempts_log,
                   {{"none", AttemptsLog::none},
                    {"failures", AttemptsLog::failures},
                    {"all", AttemptsLog::all}});
    section.number("concurrency", options.concurrency, 1, 100'000);
    section.finish();
    for (const std::string& text : check(box.name, options)) section.problem({}, text);
}

void read_retry(Section section, RetryPolicy& retry) {
    section.number("max_attempts", retry.max_attempts, 1, 1'000);
    section.duration("base", retry.backoff.base);
    section.real("multiplier", retry.backoff.multiplier, 1, 100);
    section.duration("cap", retry.backoff.cap);
    double jitter = retry.backoff.jitter.share;
    section.real("jitter", jitter, 0, 1);
    retry.backoff.jitter = Jitter::symmetric(jitter);
    section.durations("schedule", retry.backoff.schedule);
    section.finish();
}

/// A warning, not a problem: it may be there by the time it is needed.
void warn_if(Section& section, const std::string& key, const std::string& advice) {
    if (!advice.empty()) section.warn(key, advice);
}

void read_target(Section& section, TargetConfig& config, const std::vector<Source>& sources) {
    Target& target = config.target;
    target.box = "inbox";
    section.text("key", target.key);
    section.text("box", target.box);
    Section match = section.table("match");
    match.text("source", target.matcher.source);
    match.text("type", target.matcher.type);
    match.text("tenant", target.matcher.tenant);
    match.finish();
    warn_if(match, "source", advice_on_source(target.matcher.source, sources));
    section.text("url", config.url);
    section.texts("command", config.command);
    if (!config.command.empty()) {
        const Environment& environment = section.environment();
        const auto found = environment ? environment("PATH") : std::nullopt;
        const std::string path = found.value_or("/usr/bin:/bin");
        warn_if(section, "command", advice_on_program(config.command.front(), path));
    }
    section.boolean("log", config.log);
    section.secret("secret", config.secret);
    section.text("after", target.after);
    section.choice("after_dead", target.after_dead,
                   {{"block", AfterDead::block}, {"go_on", AfterDead::go_on}});
    read_retry(section.table("retry"), config.options.retry);
    section.duration("timeout", config.options.timeout);
    section.number("concurrency", config.options.concurrency, 0, 100'000);
    section.rate("rate", config.options.rate);
    section.texts("legacy_keys", target.legacy_keys);

    const int executors =
        (config.url.empty() ? 0 : 1) + (config.command.empty() ? 0 : 1) + (config.log ? 1 : 0);
    if (executors != 1) {
        section.problem({},
                        "a target needs exactly one of url = \"…\", command = [\"…\"] and "
                        "log = true");
    }
    if (!config.url.empty() && !config.url.starts_with("http://") &&
        !config.url.starts_with("https://")) {
        section.problem("url", in_quotes(config.url) + " must begin with http:// or https://");
    }
    for (const std::string& text : check(target, config.options)) section.problem({}, text);
}

/// A box is there when it is described, and "inbox" and "outbox" always.
void check_box(Section& section, const std::string& box, const Config& config) {
    std::vector<std::string> names;
    for (const BoxConfig& one : config.boxes) names.push_back(one.name);
    if (std::find(names.begin(), names.end(), box) != names.end()) return;
    const std::string close = nearest(box, names);
    section.problem("box", in_quotes(box) + " is not a box; " +
                               (close.empty() ? "" : "did you mean " + in_quotes(close) + "? Or ") +
                               "add [boxes." + box + "]");
}

void read_boxes(Section& top, Config& config) {
    for (auto& [name, section] : top.named("boxes")) {
        read_box(section, config.boxes.emplace_back(BoxConfig{.name = name}));
    }
    add_default_boxes(config.boxes);
}

void read_targets(Section& top, Config& config, Reading& reading) {
    for (Section& section : top.tables("targets")) {
        reading.effective += "\n[[targets]]\n";
        TargetConfig target;
        read_target(section, target, config.sources);
        check_box(section, target.target.box, config);
        section.finish();
        config.targets.push_back(std::move(target));
    }
    for (const BoxConfig& box : config.boxes) {
        std::vector<Target> together;
        for (const TargetConfig& one : config.targets) {
            if (one.target.box == box.name) together.push_back(one.target);
        }
        for (const std::string& text : check_together(together)) top.problem("targets", text);
    }
}

void read_all(Section& top, Config& config, Reading& reading) {
    read_store(top, config);
    read_engine(top.table("engine"), config.engine);
    read_server(top.table("server"), config.server);
    read_boxes(top, config);
    for (auto& [name, section] : top.named("sources")) {
        Source& source = config.sources.emplace_back(Source{.name = name});
        read_source(section, source);
        check_box(section, source.box, config);
    }
    top.later("subscriptions", "webhooks out");
    top.later("secrets", "secrets of tenants");
    top.later("egress", "webhooks out");
    read_telemetry(top.table("telemetry"), config.telemetry);
    read_targets(top, config, reading);
    top.finish();
}

}  // namespace

void add_default_boxes(std::vector<BoxConfig>& boxes) {
    for (const char* name : {"inbox", "outbox"}) {
        const auto has_name = [&](const BoxConfig& box) { return box.name == name; };
        if (std::ranges::any_of(boxes, has_name)) continue;
        boxes.push_back({.name = name, .options = defaults_of(name)});
    }
}

std::string problem_of_tokens(const ServerConfig& server) {
    if (is_loopback(server.host) || !server.admin_tokens.empty()) return {};
    return "is required when listening on " + server.host +
           ", which others can reach; set [\"env:WAYBILL_ADMIN_TOKEN\"]";
}

bool has_target(const Config& config, const std::string& box, const std::string& key) {
    return std::ranges::any_of(config.targets, [&](const TargetConfig& one) {
        return one.target.box == box && one.target.key == key;
    });
}

LoadedConfig load_config(std::string_view text, const std::string& file,
                         const Environment& environment) {
    const Node tree = parse_toml(text, file);
    Reading reading{.file = file, .environment = environment};
    LoadedConfig loaded;
    Section top{reading, &tree, {}};
    read_all(top, loaded.config, reading);
    if (!reading.problems.empty()) throw ConfigError{in_order(std::move(reading.problems))};
    loaded.warnings = in_order(std::move(reading.warnings));
    loaded.effective = std::move(reading.effective);
    loaded.config.secret_variables = std::move(reading.secret_variables);
    return loaded;
}

LoadedConfig load_config_file(const std::string& file, const Environment& environment) {
    std::ifstream input{file, std::ios::binary};
    if (!input) {
        throw ConfigError{{file + ": cannot be read; check the path and its permissions"}};
    }
    const std::string text{std::istreambuf_iterator<char>{input}, {}};
    return load_config(text, file, environment);
}

}  // namespace waybill::server
