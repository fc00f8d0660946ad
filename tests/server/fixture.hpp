#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/config/config.hpp"
#include "server/log.hpp"
#include "server/server.hpp"
#include "server/store_access.hpp"
#include "server/token.hpp"
#include "support/http_client.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/providers.hpp"
#include "waybill/system.hpp"

namespace waybill::test {

/// A source of ours with a known secret.
inline Source source_named(const std::string& name, const std::string& provider) {
    Source source{.name = name, .provider = provider};
    source.secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
    return source;
}

/// The request as that source's sender would sign it, as bytes.
inline std::string signed_post(const Source& source, const std::string& body,
                               const std::string& id = {}, const HttpHeaders& more = {},
                               StoreTime now = system_clock().wall()) {
    HttpRequest request{.method = "POST", .target = "/webhooks/" + source.name, .body = body};
    for (const auto& [name, value] : more) request.headers.add(name, value);
    const HttpRequest signed_request = providers::sign(request, source, id, now).value();
    std::string text = "POST " + request.target +
                       " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\n";
    for (const auto& [name, value] : signed_request.headers) text += name + ": " + value + "\r\n";
    return text + "\r\n" + body;
}

/// A server in this process, on a SQLite file of its own.
class ServerUnderTest {
public:
    using Wrap =
        std::function<std::unique_ptr<server::StoreAccess>(std::unique_ptr<server::StoreAccess>)>;

    explicit ServerUnderTest(server::Config config = {}, const Wrap& wrap = {})
        : config_(std::move(config)) {
        if (config_.store == server::Config{}.store)
            config_.store = "sqlite:" + folder_.file("w.db");
        config_.server.port = 0;
        if (config_.boxes.empty()) config_.boxes = {{.name = "inbox"}};
        auto store = server::open_store(config_.store, server::store_options(config_));
        if (wrap) store = wrap(std::move(store));
        server_ = std::make_unique<server::Server>(config_, log_, std::move(store));
    }

    std::uint16_t port() const { return server_->port(); }
    server::Server& server() { return *server_; }
    const server::Config& config() const { return config_; }
    const TemporaryFolder& folder() const { return folder_; }
    std::string store_file() const { return server::file_of(config_.store); }

    /// An operator's request, with the token the server left beside its store.
    std::optional<HttpAnswer> operate(const std::string& method, const std::string& target,
                                      const std::string& body = {},
                                      const std::string& headers = {}) {
        return HttpClient{port()}.ask(operators_request(method, target, body, headers));
    }
    /// Until a listing says what is wanted.
    bool eventually(const std::string& target, const std::string& wanted) {
        const LocalTime patience = later(system_clock().now(), std::chrono::seconds{60});
        // One connection for all of it: thousands would use up the ports of this host.
        HttpClient client{port()};
        const std::string request = operators_request("GET", target, {});
        while (system_clock().now() < patience) {
            if (client.ask(request)->body.find(wanted) != std::string::npos) return true;
        }
        return false;
    }

private:
    std::string operators_request(const std::string& method, const std::string& target,
                                  const std::string& body, const std::string& headers = {}) const {
        const auto local = server::read_local_access(server::local_access_file(store_file()));
        return method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + "Authorization: Bearer " +
               local.value().token + "\r\n" + headers +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }

    TemporaryFolder folder_;
    server::Log log_{server::LogLevel::error, server::LogFormat::text, system_clock()};
    server::Config config_;
    std::unique_ptr<server::Server> server_;
};

/// A target that does nothing but succeed.
inline server::TargetConfig log_target(const std::string& key) {
    server::TargetConfig config;
    config.target = {.box = "inbox", .key = key};
    config.log = true;
    return config;
}

}  // namespace waybill::test
