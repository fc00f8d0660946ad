#include "server/subscription_trial.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/system_random.hpp"
#include "core/wording.hpp"
#include "deliver/judge.hpp"
#include "deliver/request.hpp"
#include "server/answer.hpp"
#include "server/deliver_options.hpp"
#include "server/subscription_json.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

constexpr Duration kTestMost = std::chrono::seconds{10};
constexpr const char* kExpired = "all its secrets have expired";

/// One that the subscription would get.
Message example_of(const Subscription& subscription, const json::Value& body) {
    std::string type = text_or(body, "type", subscription.type);
    std::ranges::replace(type, '*', 'x');
    const bool is_of_one =
        subscription.tenant != "default" && subscription.tenant.find('*') == std::string::npos;
    Message message{.box = subscription.box,
                    .type = type,
                    .body = text_or(body, "body", R"({"example":true})"),
                    .content_type = "application/json"};
    if (is_of_one) message.tenant = subscription.tenant;
    message.id = uuid7(system_clock().wall(), thread_random());
    return message;
}

struct Signing {
    std::vector<std::string> secrets{};
    /// Why a delivery would fail for want of a secret.
    std::string problem{};
};

Signing signing_of(const Subscription& subscription, const std::string& tenant,
                   const Config& config, StoreTime now) {
    const std::string& pattern = config.secrets.tenant_pattern;
    if (pattern.empty() || tenant.empty()) {
        Signing signing{deliver::secrets_at(subscription, now)};
        if (signing.secrets.empty() && !subscription.secrets.empty()) {
            signing.problem = kExpired;
        }
        return signing;
    }
    const TenantSecret own = tenant_secret_of(pattern, tenant);
    if (own.is_failure) return {.problem = "the tenant's secret cannot be had: " + own.problem};
    Signing signing{deliver::secrets_for(subscription, own.value, now)};
    if (signing.secrets.empty() && !subscription.secrets.empty()) {
        signing.problem = std::string{kExpired} + ", and the tenant " + detail::in_quotes(tenant) +
                          " has none: " + own.problem;
    } else if (signing.secrets.empty()) {
        signing.problem = "neither the tenant " + detail::in_quotes(tenant) +
                          " nor the subscription has a secret: " + own.problem +
                          "; or give the subscription one of its own";
    }
    return signing;
}

}  // namespace

HttpResponse try_out(Subscription subscription, const json::Value& body, const Config& config,
                     StoreHandle& store) {
    // What nobody can open is not sent to anybody.
    if (!subscription.problem.empty()) {
        return error_response(409, "unusable", subscription.problem);
    }
    const std::string url = text_or(body, "url", subscription.url);
    // Tokens are for its own endpoint alone.
    if (url != subscription.url) subscription.headers = HttpHeaders{};
    Message message = example_of(subscription, body);
    if (const std::string text = text_or(body, "message", ""); !text.empty()) {
        const auto wanted = parse_uuid(text);
        const auto stored = wanted ? store.catalogue()->get(*wanted) : std::nullopt;
        if (!stored) return error_response(404, "not-found", "there is no message " + text);
        message = *stored->summary.message;
    }
    const StoreTime now = system_clock().wall();
    const Signing signing = signing_of(subscription, message.tenant, config, now);
    if (!signing.problem.empty()) return error_response(409, "cannot-sign", signing.problem);
    auto request = deliver::request_of(subscription, std::make_shared<Message>(message), 0,
                                       signing.secrets, deliver_options_of(config), now,
                                       std::min(subscription.timeout, kTestMost));
    if (!request) {
        return error_response(409, "cannot-sign",
                              webhook::problem_of_secrets(signing.secrets, subscription.signing));
    }
    request->url = url;
    const http_out::Result result = http_out::perform(*request);
    json::Object report = deliver::report_of(result);
    report.emplace_back("message", to_string(message.id));
    report.emplace_back("delivered", result.status >= 200 && result.status < 300);
    return json_response(200, report);
}

}  // namespace waybill::server
