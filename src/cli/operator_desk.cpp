#include "cli/operator_desk.hpp"

#include <filesystem>
#include <iostream>
#include <stdexcept>

#include <pwd.h>
#include <unistd.h>

#include "cli/open_store.hpp"
#include "server/admin.hpp"
#include "server/config/secret.hpp"
#include "server/store_access.hpp"
#include "server/token.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/system.hpp"
#include "waybill/waybill.hpp"

namespace waybill::cli {

namespace {

/// For all owners together.
constexpr Duration kPatience = std::chrono::seconds{5};

/// Who sits here, for the record.
std::string person() {
    const passwd* const account = ::getpwuid(::geteuid());
    return account != nullptr ? account->pw_name : "user " + std::to_string(::geteuid());
}

HttpHeaders with_token(HttpHeaders headers, const std::string& token) {
    headers.set("Authorization", "Bearer " + token);
    headers.set("Content-Type", "application/json");
    headers.set("Waybill-Actor", person());
    return headers;
}

}  // namespace

struct OperatorDesk::Direct {
    /// `known`: null where the configuration could not be read.
    Direct(const server::Config& config, std::shared_ptr<const server::Config> known, bool migrates)
        : access(open_for_command(config, "it does not answer; look at its log, or stop it")),
          app({.store = access->connect(), .relaxed_durability = config.relaxed_durability}),
          admin(
              access->connect(), access->notebook(),
              [this](const std::string& path) { access->backup(path); },
              [this](Message message) { return app.append(std::move(message)); },
              [known] { return known; }, who_serves(config)) {
        if (server::is_shared(config.store)) {
            // Others may run on it: only serve and migrate change its tables.
            must_have_tables(config, access->schema());
        } else if (migrates) {
            access->migrate();
        }
        for (const server::BoxConfig& box : config.boxes) app.box(box.name, box.options);
    }

    /// A file is served by whoever opens it next, as configured; a shared store by those who live.
    server::WhoServes who_serves(const server::Config& config) {
        if (!server::is_shared(config.store)) return {};
        return {.instances =
                    [this] { return access->instances().value_or(std::vector<InstanceSeen>{}); },
                .configuration_counts = false};
    }

    std::unique_ptr<server::StoreAccess> access;
    /// Only appends.
    Waybill app;
    server::Admin admin;
};

OperatorDesk::~OperatorDesk() = default;

OperatorDesk::OperatorDesk(const Globals& globals, bool may_create) {
    AskedConfig asked = load_to_ask(globals);
    const server::Config& config = asked.config;
    problems_ = std::move(asked.problems);
    file_ = server::file_of(config.store);
    is_shared_ = server::is_shared(config.store);
    const bool is_there = is_shared_ || std::filesystem::exists(file_);
    if (!problems_.empty() && !is_there) throw ConfigError{problems_};
    if (file_.empty() && !is_shared_) {
        throw std::runtime_error("store " + server::masked_url(config.store) +
                                 " belongs to its server alone; nothing can be asked from outside");
    }
    if (!may_create && !is_there) {
        throw std::runtime_error("there is no store " + file_ +
                                 "; start `waybill serve` once, or name another with --store");
    }
    if (!problems_.empty()) {
        std::cerr << "warning: " << config_file(globals)
                  << " cannot be used, see `waybill check`; asked is "
                  << server::masked_url(config.store) << "\n";
    }
    if (!is_shared_ && find_server()) return;
    if (!problems_.empty() && may_create) throw ConfigError{problems_};
    if (is_there && !is_shared_) must_hold_a_store(file_, may_create);
    auto known = problems_.empty() ? std::make_shared<const server::Config>(config) : nullptr;
    direct_ = std::make_unique<Direct>(config, std::move(known), may_create);
    answer_ = [this](const HttpRequest& request) {
        return direct_->admin.handle(request, person() + " (command line)");
    };
}

/// False: nobody has the store open who would answer.
bool OperatorDesk::find_server() {
    const auto local = server::read_local_access(server::local_access_file(file_));
    if (!local) return false;
    // Left behind by a server that died, it leads nowhere: then nobody has the store open.
    const auto alive = http_out::perform({.method = "GET",
                                          .url = local->url + "/healthz",
                                          .deadlines = {.total = std::chrono::seconds{5}},
                                          .tls = {.key_pin = local->key_pin}});
    // Any answer, also "too many requests", is the answer of a server that lives.
    if (alive.status == 0) return false;
    answer_ = [local](const HttpRequest& request) -> HttpResponse {
        const auto result = http_out::perform(
            {.method = request.method,
             .url = local->url + request.target,
             .headers = with_token(request.headers, local->token),
             .body = request.body,
             .deadlines = {.first_byte = std::chrono::minutes{5}, .total = std::chrono::minutes{5}},
             .tls = {.key_pin = local->key_pin},
             .response_bytes_max = std::uint64_t{256} << 20});
        if (result.status == 0 || result.cut) {
            throw std::runtime_error("the server: " + result.error);
        }
        return {.status = result.status, .headers = {}, .body = result.body};
    };
    return true;
}

json::Value OperatorDesk::ask(const HttpRequest& request) {
    const HttpResponse response = answer_(request);
    const json::Value value = json::parse(response.body);
    if (response.status >= 400) {
        const json::Value* const error = value.find("error");
        const json::Value* const message = error != nullptr ? error->find("message") : nullptr;
        const std::string text = message != nullptr ? message->as_string() : response.body;
        if (response.status == 400) throw UsageError{text};  // it was asked wrongly
        throw std::runtime_error(text);
    }
    return value;
}

json::Array OperatorDesk::owners_answers(const std::vector<json::Value>& orders) {
    const LocalTime until = later(system_clock().now(), kPatience);
    json::Array all;
    for (const json::Value& ordered : orders) {
        json::Array answers;
        for (const json::Value& number : ordered.find("commands")->as_array()) {
            const json::Value answer = owners_answer(number.as_uint64(), until);
            const bool answered = answer.find("answered")->as_bool();
            answers.emplace_back(
                json::Object{{"command", number},
                             {"answered", answered},
                             {"carried_out", answered && answer.find("carried_out")->as_bool()},
                             {"text", answered ? answer.find("text")->as_string()
                                               : "ordered; it is carried out when a server runs"}});
        }
        all.emplace_back(std::move(answers));
    }
    return all;
}

/// Nobody else would answer for a file that is open here.
json::Value OperatorDesk::owners_answer(std::uint64_t command, LocalTime until) {
    for (;;) {
        json::Value answer = get("/v1/commands/" + std::to_string(command));
        const bool is_alone = direct_ && !is_shared_;
        if (answer.find("answered")->as_bool() || is_alone || system_clock().now() >= until) {
            return answer;
        }
        ::usleep(50'000);  // lint: allow(seams) a person waits
    }
}

json::Value OperatorDesk::get(const std::string& target) {
    return ask({.method = "GET", .target = target});
}

json::Value OperatorDesk::post(const std::string& target, const json::Value& body,
                               const std::string& operation) {
    if (direct_ && !problems_.empty()) {
        Problems why = problems_;
        why.push_back(
            "nothing was ordered: no server of this folder answers, and without one an order needs "
            "a configuration that can be used; repair it, or name the store: --store URL");
        throw ConfigError{std::move(why)};
    }
    HttpRequest request{.method = "POST",
                        .target = target,
                        .body = body.is_null() ? std::string{} : json::to_text(body)};
    if (!operation.empty()) request.headers.set("Idempotency-Key", operation);
    return ask(request);
}

}  // namespace waybill::cli
