#include "server/server.hpp"

#include <algorithm>
#include <optional>
#include <shared_mutex>
#include <utility>

#include <unistd.h>

#include "core/text.hpp"
#include "core/version.hpp"
#include "server/admin.hpp"
#include "server/answer.hpp"
#include "server/change_pace.hpp"
#include "server/desk.hpp"
#include "server/door_options.hpp"
#include "server/exposition.hpp"
#include "server/generation.hpp"
#include "server/metrics_page.hpp"
#include "server/openapi.hpp"
#include "server/seldom.hpp"
#include "server/token.hpp"
#include "server/unserved.hpp"
#include "server/unusable.hpp"
#include "server/who_asks.hpp"
#include "transport/http_in/http_in.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/json.hpp"
#include "waybill/message_check.hpp"
#include "waybill/signing.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

using http_in::Reply;

}  // namespace

struct Server::Parts {
    Parts(Config given, Log& its_log, std::unique_ptr<StoreAccess> opened);

    void on_request(HttpRequest request, Reply reply);
    void on_admin(HttpRequest request, Reply reply);
    void on_stranger(HttpRequest request, Reply reply);
    HttpResponse readiness();
    bool shows_metrics();
    HttpResponse metrics_response();
    std::vector<UnservedTarget> unserved();
    void warn_of_unserved();
    Config config_in_force();
    ServerConfig server_in_force();
    WhoServes who_serves();
    InstanceSeen myself();
    void on_access(const http_in::Access& access);
    void at_desk(Desk& desk, Reply reply, std::function<HttpResponse()> answer);
    /// For the command line, which finds us by our store.
    void say_where(http_in::Tls* tls) const;

    Log& log;
    Config config;
    const std::string local_token = make_token();
    std::unique_ptr<StoreAccess> store;
    ChangePace changes{system_clock()};
    Admin admin;
    UnservedWatch watch;
    http_out::HttpOut out{};
    Metrics metrics{};
    const StoreTime began_at = system_clock().wall();
    /// Guards which generation is current: the door reads it, a reload changes it. Whoever uses one
    /// holds it, so that only who reloads or stops ends an engine: of shared pointers the last one
    /// might be the door's, and everybody would wait.
    std::shared_mutex mutex{};
    std::unique_ptr<Generation> generation;
    Farewell farewell{};
    /// What the store said last. For `probes`.
    Seldom<StoreHealth> store_numbers{std::chrono::seconds{5}};
    Desk desk{};
    /// Whoever watches us or an operator's long order does not wait behind it.
    Desk probes{};
    /// Nor does an operator behind an endpoint that is tried out.
    Desk errands{};
    std::unique_ptr<http_in::HttpIn> door{};
    bool stopped = false;
};

Server::Parts::Parts(Config given, Log& its_log, std::unique_ptr<StoreAccess> opened)
    : log(its_log),
      config(std::move(given)),
      store(opened ? std::move(opened) : open_store(config.store, store_options(config))),
      admin(
          store->connect(), store->notebook(),
          [this](const std::string& path) { store->backup(path); },
          [this](Message message) {
              const std::shared_lock lock{mutex};
              if (!generation) throw Overloaded{"the server is stopping"};
              return generation->app.append(std::move(message));
          },
          [this] { return std::make_shared<const Config>(config_in_force()); }, who_serves(),
          [this] {
              const std::shared_lock lock{mutex};
              if (generation) changes.look([this] { generation->deliverer->refresh(); });
          }),
      watch(
          store->connect(), [this] { return config_in_force(); }, who_serves()),
      generation(std::make_unique<Generation>(config, *store, out, log, metrics)) {
    generation->start();
    // Somebody may come in before the door is hung.
    const std::unique_lock lock{mutex};
    door = std::make_unique<http_in::HttpIn>(
        door_options(config),
        [this](HttpRequest request, Reply reply) {
            on_request(std::move(request), std::move(reply));
        },
        [this](const http_in::Access& access) { on_access(access); });
}

void Server::Parts::on_request(HttpRequest request, Reply reply) {
    const std::string_view path = request.path();
    if (path == "/healthz") return reply(json_response(200, json::Object{{"status", "live"}}));
    if (path == "/readyz") return at_desk(probes, std::move(reply), [this] { return readiness(); });
    if (path == "/metrics" && shows_metrics()) {
        return at_desk(probes, std::move(reply), [this] { return metrics_response(); });
    }
    if (path.starts_with("/v1/")) return on_admin(std::move(request), std::move(reply));
    const std::shared_lock lock{mutex};
    if (generation && generation->intake->is_for(path)) {
        return generation->intake->handle(
            std::move(request), [reply, counts = &generation->counts](HttpResponse response,
                                                                      const IntakeReport& report) {
                counts->on_webhook(report);
                reply(std::move(response), report.outcome);
            });
    }
    if (path == "/") return reply(json_response(200, what_is_here()), "index");
    reply(error_response(404, "not-found", "there is nothing here; GET / says what is"),
          "not-found");
}

void Server::Parts::on_admin(HttpRequest request, Reply reply) {
    const std::string* const encoding = request.headers.find("Content-Encoding");
    if (encoding != nullptr && same_name(*encoding, "gzip")) {
        return reply(
            error_response(415, "unsupported-encoding", "send the body without Content-Encoding"),
            "unsupported-encoding");
    }
    const auto token = token_name(request, server_in_force(), local_token);
    if (!token) return on_stranger(std::move(request), std::move(reply));
    const std::string actor = actor_of(request, *token);
    if (request.method != "GET") {
        const std::string* const id = request.headers.find("Idempotency-Key");
        log.write(LogLevel::info, "order",
                  {{"actor", actor},
                   {"path", request.path()},
                   {"operation", id ? clean_text(*id, field_bytes_max) : ""}});
    }
    const bool is_errand = request.path().starts_with("/v1/subscriptions/") &&
                           SubscriptionDesk::asks_an_endpoint(request.path());
    Desk& whose = is_errand ? errands : Admin::is_of_order(request) ? probes : desk;
    at_desk(whose, std::move(reply),
            [this, actor, request = std::move(request)] { return admin.handle(request, actor); });
}

/// Somebody without a token of ours may have one of the issuer we trust, and publish with it.
void Server::Parts::on_stranger(HttpRequest request, Reply reply) {
    auto known = publisher_of(request, server_in_force().claims, system_clock().wall());
    if (auto* const publisher = std::get_if<Publisher>(&known)) {
        return at_desk(desk, std::move(reply),
                       [this, publisher = std::move(*publisher), request = std::move(request)] {
                           return admin.publish_as(publisher, request);
                       });
    }
    HttpResponse refused = error_response(401, "unauthorized", std::get<std::string>(known));
    refused.headers.add("WWW-Authenticate", "Bearer");
    reply(std::move(refused), "unauthorized");
}

void Server::Parts::at_desk(Desk& whose, Reply reply, std::function<HttpResponse()> answer) {
    const bool taken = whose.post([this, reply, answer = std::move(answer)] {
        try {
            reply(answer());
        } catch (const std::exception& error) {
            log.write(LogLevel::error, "a request failed", {{"reason", error.what()}});
            reply(error_response(500, "internal-error", "see the server's log"));
        }
    });
    if (!taken) reply(error_response(503, "overloaded", "come again later"), "overloaded");
}

HttpResponse Server::Parts::readiness() {
    const std::shared_lock lock{mutex};
    if (!generation) return json_response(503, json::Object{{"status", "stopping"}});
    const Health health = generation->app.health();
    // A store that answers and does not store (its commits hang, say) is as good as none: no lease is had, or it runs out.
    const bool ready = health.store.reachable && health.status.ready;
    json::Array reasons;
    for (const std::string& reason : health.reasons) reasons.emplace_back(reason);
    for (const UnservedTarget& one : unserved()) reasons.emplace_back(text_of(one));
    for (std::string& text : texts_of(generation->deliverer->unusable())) {
        reasons.emplace_back(std::move(text));
    }
    json::Object body{{"status", ready ? "ready" : "not ready"}};
    body.emplace_back("durability", config.relaxed_durability ? "relaxed" : "strict");
    if (health.store.reachable) {
        body.emplace_back("open", health.store.open);
        body.emplace_back("parked", health.store.parked);
        body.emplace_back("dead", health.store.dead);
    }
    body.emplace_back("reasons", std::move(reasons));
    return json_response(ready ? 200 : 503, body);
}

std::vector<UnservedTarget> Server::Parts::unserved() {
    if (watch.is_due()) desk.post([this] { watch.look(); });
    return watch.last();
}

/// Of a configuration that is new.
void Server::Parts::warn_of_unserved() {
    desk.post([this] {
        for (const UnservedTarget& one : watch.look()) log.say(LogLevel::warn, text_of(one));
    });
}

Config Server::Parts::config_in_force() {
    const std::shared_lock lock{mutex};
    return config;
}

ServerConfig Server::Parts::server_in_force() {
    const std::shared_lock lock{mutex};
    return config.server;
}

WhoServes Server::Parts::who_serves() {
    return {.instances = [this] { return store->instances().value_or(std::vector{myself()}); }};
}

InstanceSeen Server::Parts::myself() {
    const std::shared_lock lock{mutex};
    return described(config, generation ? generation->app.status() : Status{}, began_at);
}

bool Server::Parts::shows_metrics() {
    const std::shared_lock lock{mutex};
    return config.telemetry.prometheus;
}

HttpResponse Server::Parts::metrics_response() {
    const std::shared_lock lock{mutex};
    if (!generation) return error_response(503, "stopping", "the server is stopping");
    const Levels levels{.status = generation->app.status(),
                        .store = store_numbers.get([&] { return generation->app.health().store; }),
                        .unserved = unserved(),
                        .subscriptions = generation->deliverer->counts(),
                        .window_max = config.engine.window,
                        .appends_waiting_max = config.server.waiting_max,
                        .connections = door->connections(),
                        .connections_max = config.server.connections_max,
                        .process_start = began_at,
                        .resident_bytes = resident_bytes()};
    return {.status = 200,
            .headers = {{"Content-Type", Exposition::content_type}},
            .body = metrics_page(metrics, levels)};
}

void Server::Parts::on_access(const http_in::Access& access) {
    metrics.count_access(access.status, access.outcome);
    // Those who only look whether we live would fill the log.
    const bool is_probe =
        access.path == "/healthz" || access.path == "/readyz" || access.path == "/metrics";
    const LogLevel level = is_probe && access.status == 200 ? LogLevel::debug : LogLevel::info;
    if (!log.wants(level)) return;
    const std::string status = std::to_string(access.status);
    const std::string in = std::to_string(access.bytes_in);
    const std::string out_bytes = std::to_string(access.bytes_out);
    const std::string reading = std::to_string(access.reading.count());
    const std::string handling = std::to_string(access.handling.count());
    log.write(level, "request",
              {{"remote", access.remote},
               {"method", access.method},
               {"path", access.path},
               {"status", status},
               {"outcome", access.outcome},
               {"bytes_in", in},
               {"bytes_out", out_bytes},
               {"read_us", reading},
               {"took_us", handling}});
}

void Server::Parts::say_where(http_in::Tls* tls) const {
    const std::string file = file_of(config.store);
    if (file.empty()) return;
    write_local_access(local_access_file(file),
                       {.url = url_of(config.server, door->port()),
                        .token = local_token,
                        .key_pin = tls != nullptr ? http_in::key_pin(*tls) : std::string{}});
}

Server::Server(Config config, Log& log, std::unique_ptr<StoreAccess> store)
    : parts_(std::make_unique<Parts>(std::move(config), log, std::move(store))) {
    const auto files = door_options(parts_->config).tls;
    parts_->say_where(files ? http_in::read_tls(*files).get() : nullptr);
    parts_->warn_of_unserved();
}

Server::~Server() {
    stop();
}

std::uint16_t Server::port() const {
    return parts_->door->port();
}

std::string Server::url() const {
    return url_of(parts_->config.server, port());
}

std::string Server::address() const {
    return address_of(parts_->config.server, port());
}

void Server::reload(const Config& config) {
    Parts& parts = *parts_;
    if (config.sources.empty() && !parts.config.sources.empty()) {
        // More likely a file that is being written than somebody who wants no webhooks any more.
        throw ConfigError{{"there are no sources in it, and there were " +
                           std::to_string(parts.config.sources.size()) +
                           "; restart the server if it shall go on without any"}};
    }
    const http_in::Options options = door_options(config);
    const bool keeps_tls = options.tls.has_value() && !parts.config.server.tls_cert.empty();
    const auto tls = keeps_tls ? http_in::read_tls(*options.tls) : nullptr;
    parts.farewell.wait();
    auto fresh =
        std::make_unique<Generation>(config, *parts.store, parts.out, parts.log, parts.metrics);
    fresh->start();
    std::unique_ptr<Generation> old;
    {
        const std::unique_lock lock{parts.mutex};
        old = std::exchange(parts.generation, std::move(fresh));
        if (config.store != parts.config.store || config.server.host != parts.config.server.host ||
            config.server.port != parts.config.server.port ||
            options.tls.has_value() == parts.config.server.tls_cert.empty()) {
            parts.log.say(LogLevel::warn,
                          "store, listen and whether there is TLS take effect after a restart");
        }
        const Config kept = std::exchange(parts.config, config);
        parts.config.store = kept.store;
        parts.config.server.host = kept.server.host;
        parts.config.server.port = kept.server.port;
        parts.config.server.connections_max = kept.server.connections_max;
        if (!keeps_tls) {
            parts.config.server.tls_cert = kept.server.tls_cert;
            parts.config.server.tls_key = kept.server.tls_key;
        }
    }
    parts.farewell.to(std::move(old));
    parts.door->set_limits(options.request, options.per_address);
    if (tls) {
        parts.door->set_tls(tls);
        try {
            parts.say_where(tls.get());
        } catch (const std::exception& error) {
            parts.log.write(LogLevel::warn, "commands on this host do not know the new key",
                            {{"reason", error.what()}});
        }
    }
    parts.warn_of_unserved();
}

bool Server::may_reload() const {
    return parts_->farewell.is_over();
}

void Server::stop() {
    Parts& parts = *parts_;
    if (std::exchange(parts.stopped, true)) return;
    // Beside each other: what runs and who was about to be answered have the same time.
    parts.generation->begin_to_stop();
    parts.door->stop(parts.config.engine.shutdown_timeout);
    std::unique_ptr<Generation> last;
    {
        const std::unique_lock lock{parts.mutex};
        last = std::move(parts.generation);
    }
    last.reset();
    parts.farewell.wait();
    const std::string file = file_of(parts.config.store);
    if (!file.empty()) ::unlink(local_access_file(file).c_str());
}

}  // namespace waybill::server
