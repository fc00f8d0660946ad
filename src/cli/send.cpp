#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "cli/command.hpp"
#include "cli/operator_desk.hpp"
#include "cli/progress.hpp"
#include "core/runtime/system_random.hpp"
#include "server/admin_query.hpp"
#include "server/config/units.hpp"
#include "server/demo.hpp"
#include "server/store_access.hpp"
#include "server/token.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/json.hpp"
#include "waybill/providers.hpp"
#include "waybill/system.hpp"
#include "waybill/uuid.hpp"

namespace waybill::cli {
namespace {

[[noreturn]] void refuse_name(const std::string& name, const server::Config& config) {
    std::vector<std::string> known;
    for (const Source& source : config.sources) known.push_back(source.name);
    for (const std::string_view key : providers::keys()) known.emplace_back(key);
    const std::string close = server::nearest(name, known);
    throw UsageError{"\"" + name + "\" is neither a source of the configuration nor a provider; " +
                     (close.empty() ? "see waybill providers" : "did you mean " + close + "?")};
}

/// Without a configuration the running server has a demo source, and its store the secret.
std::vector<std::string> demo_secrets(const Globals& globals) {
    const json::Value answer = OperatorDesk{globals}.get("/v1/demo");
    return {answer.find("secret")->as_string()};
}

/// A source of the configuration, the demo's, or a provider by its key. `config` is read only when
/// it is needed: not when a provider was named and everything else said.
Source source_of(const std::string& name, const Arguments& arguments, const Globals& globals,
                 bool needs_config, std::optional<server::Config>& config) {
    const bool is_provider = providers::find(name) != nullptr;
    if (is_provider && arguments.has("secret") && !needs_config) {
        return {.name = name, .provider = name};
    }
    config = load(globals).config;
    if (name == "demo" && config_file(globals).empty()) {
        Source demo = server::demo_config(config->store, {}).sources.front();
        if (!arguments.has("secret")) demo.secrets = demo_secrets(globals);
        return demo;
    }
    for (const Source& source : config->sources) {
        if (source.name == name) return source;
    }
    if (!is_provider) refuse_name(name, *config);
    return {.name = name, .provider = name};
}

/// Where to, and whom to believe there.
struct Receiver {
    std::string url{};
    std::string key_pin{};
};

Receiver receiver_of(const Source& source, const server::Config& config) {
    const std::string file = server::file_of(config.store);
    const auto local =
        file.empty() ? std::nullopt : server::read_local_access(server::local_access_file(file));
    const std::string path = "/webhooks/" + source.name;
    if (local) return {local->url + path, local->key_pin};
    return {server::url_of(config.server, config.server.port) + path, {}};
}

void put_in_body(json::Object& object, std::string_view path, const std::string& value) {
    const std::size_t dot = path.find('.');
    const std::string name{path.substr(0, dot)};
    auto found = std::find_if(object.begin(), object.end(),
                              [&](const auto& member) { return member.first == name; });
    if (dot == std::string_view::npos) {
        if (found == object.end()) object.emplace_back(name, value);
        return;
    }
    if (found == object.end()) {
        object.emplace_back(name, json::Object{});
        found = std::prev(object.end());
    }
    json::Object inner = found->second.as_object();
    put_in_body(inner, path.substr(dot + 1), value);
    found->second = std::move(inner);
}

/// Writes a value where the receiver looks for it; of several places, the first.
void put(std::string_view places, const std::string& value, HttpRequest& request,
         json::Object& body) {
    const std::string_view place = places.substr(0, places.find_first_of("|+"));
    if (place.starts_with("header:")) {
        request.headers.set(std::string{place.substr(7)}, value);
    } else if (place.starts_with("json:")) {
        put_in_body(body, place.substr(5), value);
    }
}

struct Letter {
    std::string id{};
    std::string type{};
    std::string body{};
};

HttpRequest make_request(const Source& source, const Letter& letter, const std::string& url) {
    const providers::Info info = providers::info(source.provider).value_or(providers::Info{});
    HttpRequest request{.method = "POST"};
    const std::size_t path = url.find('/', url.find("://") + 3);
    request.target = path == std::string::npos ? "/" : url.substr(path);
    request.headers.set("Content-Type", "application/json");
    json::Object body;
    put(source.event_id.empty() ? info.id : source.event_id, letter.id, request, body);
    put(source.event_type.empty() ? info.type : source.event_type, letter.type, request, body);
    request.body = letter.body.empty() ? json::to_text(body) : letter.body;
    auto copy = request;
    auto sent = providers::sign(std::move(copy), source, letter.id, system_clock().wall());
    if (!sent) {
        if (!source.secrets.empty() && source.provider != "none") {
            throw UsageError{"requests of the provider \"" + source.provider +
                             "\" cannot be signed here"};
        }
        return request;
    }
    return *std::move(sent);
}

/// The same signature over another body.
void spoil(HttpRequest& request) {
    if (request.body.ends_with('}')) request.body.pop_back();
    request.body += request.body.empty() ? "x" : " }";
}

std::string without_line_end(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

http_out::Result post(const Receiver& receiver, const HttpRequest& request) {
    http_out::Result result = http_out::perform({.method = "POST",
                                                 .url = receiver.url,
                                                 .headers = request.headers,
                                                 .body = request.body,
                                                 .tls = {.key_pin = receiver.key_pin}});
    if (result.status == 0) {
        throw std::runtime_error(receiver.url + ": " + result.error +
                                 "; is `waybill serve` running?");
    }
    return result;
}

/// How far it is, and then how often which answer came; of each refusal the first text.
template <class SendOne>
int send_many(std::uint64_t count, SendOne one) {
    std::map<unsigned, std::uint64_t> answers;
    std::map<unsigned, std::string> refusals;
    {
        Progress progress{"sent", count};
        for (std::uint64_t i = 1; i <= count; ++i) {
            const http_out::Result result = one(i);
            ++answers[result.status];
            if (result.status >= 300) {
                refusals.emplace(result.status, without_line_end(result.body));
            }
            progress.at(i);
        }
    }
    for (const auto& [status, times] : answers) {
        std::cout << status << ": " << times << " times"
                  << (refusals.contains(status) ? ", first " + refusals[status] : "") << "\n";
    }
    return refusals.empty() ? 0 : 1;
}

int send(const Arguments& arguments, const Globals& globals) {
    std::optional<server::Config> config;
    Source source = source_of(arguments.word(0, "a source or a provider"), arguments, globals,
                              !arguments.has("url"), config);
    if (arguments.has("secret")) source.secrets = {arguments.value("secret")};
    const Receiver receiver = arguments.has("url") ? Receiver{.url = arguments.value("url")}
                                                   : receiver_of(source, *config);
    if (source.secrets.empty() && source.provider != "none") {
        throw UsageError{"--secret is missing: there is nothing to sign with"};
    }
    const std::uint64_t count = arguments.number("count", 1);
    Letter letter{.type = arguments.value("type", "test.event")};
    if (arguments.has("body")) letter.body = read_input(arguments.value("body"));
    const auto one = [&](std::uint64_t number) {
        letter.id = count > 1 && arguments.has("id")
                        ? arguments.value("id") + "-" + std::to_string(number)
                        : arguments.value("id", to_string(random_uuid(thread_random())));
        HttpRequest request = make_request(source, letter, receiver.url);
        if (arguments.has("bad-signature")) spoil(request);
        return post(receiver, request);
    };
    if (count == 1) {
        const http_out::Result result = one(1);
        std::cout << result.status << " " << without_line_end(result.body) << "\n";
        return result.status < 300 ? 0 : 1;
    }
    return send_many(count, one);
}

HttpHeaders parse_headers(const std::string& text) {
    HttpHeaders headers;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos || colon == 0) continue;
        const std::size_t from = line.find_first_not_of(" \t", colon + 1);
        headers.add(line.substr(0, colon), from == std::string::npos ? "" : line.substr(from));
    }
    return headers;
}

int verify(const Arguments& arguments, const Globals& globals) {
    const std::string name = arguments.word(0, "a provider or a source");
    std::optional<server::Config> config;
    Source source = source_of(name, arguments, globals, false, config);
    if (arguments.has("secret")) source.secrets = {arguments.value("secret")};
    HttpRequest request{.method = "POST", .target = arguments.value("target", "/webhooks/" + name)};
    request.headers = parse_headers(read_input(arguments.required("headers")));
    request.body = read_input(arguments.required("body"));
    const StoreTime now =
        arguments.has("at") ? server::parse_time(arguments.value("at")) : system_clock().wall();
    const providers::Explanation explanation = providers::explain(request, source, now);
    std::cout << providers::to_text(explanation);
    return std::holds_alternative<Rejected>(explanation.verdict) ? 1 : 0;
}

}  // namespace

Command send_command() {
    return {
        .name = "send",
        .summary = "Signs and posts test webhooks as that sender would",
        .usage = "send SOURCE_OR_PROVIDER [--url URL] [--secret S] [OPTIONS]",
        .words_max = 1,
        .options = {{"url", "URL", "where to; default: that source on the running server"},
                    {"secret", "S", "what to sign with; default: the source's first"},
                    {"type", "T", "the event's type; default test.event"},
                    {"id", "I", "the event's id; default: a new one"},
                    {"body", "FILE", "the body, - for standard input; default: a small JSON"},
                    {"count", "N", "so many of them; default 1"},
                    {"bad-signature", "", "change the body after it was signed"}},
        .examples =
            "  waybill send demo --type order.placed --id order-1\n"
            "  waybill send demo --id order-1                       a duplicate\n"
            "  waybill send demo --bad-signature                    refused with 400\n"
            "  waybill send stripe --url http://127.0.0.1:8080/webhooks/stripe --secret whsec_…\n",
        .run = send};
}

Command verify_command() {
    return {.name = "verify",
            .summary = "Says whether a captured webhook verifies and, if not, exactly why",
            .usage = "verify PROVIDER --secret S --headers FILE --body FILE [--at TIME]",
            .words_max = 1,
            .options = {{"secret", "S", "the secret; default: those of the source of that name"},
                        {"headers", "FILE", "\"Name: value\" lines as they came"},
                        {"body", "FILE", "the bytes as they came"},
                        {"target", "PATH", "path and query as called; default /webhooks/PROVIDER"},
                        {"at", "TIME", "when it arrived; default: now"}},
            .examples =
                "  waybill verify stripe --secret whsec_… --headers h.txt --body b.json\n"
                "  waybill verify github --secret S --headers h --body b "
                "--at 2026-01-31T12:00:00Z\n",
            .run = verify};
}

}  // namespace waybill::cli
