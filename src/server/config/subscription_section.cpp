#include <map>

#include "server/config/parts.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/subscription.hpp"

namespace waybill::server {
namespace {

constexpr std::size_t kKeyMin = 16;

void read_signing(Section& section, std::vector<webhook::HeaderSet>& sets) {
    const bool is_said = section.has("signing");
    std::vector<std::string> words;
    section.texts("signing", words);
    if (is_said) sets.clear();
    for (const std::string& word : words) {
        if (const auto set = webhook::parse_header_set(word)) {
            sets.push_back(*set);
        } else {
            section.problem("signing", in_quotes(word) + R"( is not one of "standard", "outbox")");
        }
    }
}

/// One, or several while it rotates.
void read_own_secrets(Section& section, Subscription& subscription) {
    std::vector<std::string> values;
    std::string one;
    section.secret("secret", one);
    section.secrets("secrets", values);
    if (!one.empty() && !values.empty()) {
        section.problem("secret", "write secret or secrets, not both");
    }
    if (!one.empty()) values.push_back(std::move(one));
    for (std::string& value : values) subscription.secrets.push_back({.value = std::move(value)});
}

}  // namespace

void read_subscription(Section& section, Subscription& subscription) {
    section.text("box", subscription.box);
    section.text("type", subscription.type);
    section.text("tenant", subscription.tenant);
    section.url("url", subscription.url);
    read_signing(section, subscription.signing);
    section.headers("headers", subscription.headers);
    read_retry(section.table("retry"), subscription.retry);
    section.duration("timeout", subscription.timeout);
    section.number("concurrency", subscription.concurrency, 1, 1'000);
    section.rate("rate", subscription.rate);
    section.choice(
        "client_errors", subscription.client_errors,
        {{"retry", Subscription::ClientErrors::retry}, {"dead", Subscription::ClientErrors::dead}});
    section.duration("disable_after", subscription.disable_after);
    section.text("description", subscription.description);
}

void read_secrets(Section section, SecretsConfig& secrets) {
    section.text("tenant_pattern", secrets.tenant_pattern);
    if (!secrets.tenant_pattern.empty() &&
        secrets.tenant_pattern.find("{tenant}") == std::string::npos) {
        section.problem("tenant_pattern",
                        "must contain {tenant}, as in \"env:WEBHOOK_SECRET_{tenant}\"");
    }
    section.duration("cache_ttl", secrets.cache_ttl);
    std::string key;
    section.secret("key", key, &secrets.key);
    if (section.looks_up_secrets() && !key.empty() && key.size() < kKeyMin) {
        section.problem("key", "is shorter than 16 characters; make one: openssl rand -hex 32");
    }
    section.finish();
}

void read_subscriptions(Section& top, Config& config, Reading& reading) {
    std::map<std::string, std::uint32_t> alike;
    for (Section& section : top.tables("subscriptions")) {
        reading.effective += "\n[[subscriptions]]\n";
        Subscription subscription;
        subscription.is_static = true;
        std::string id;
        section.text("id", id);
        read_subscription(section, subscription);
        read_own_secrets(section, subscription);
        check_box(section, subscription.box, config);
        section.finish();
        const std::string wants =
            subscription.box + "\n" + subscription.type + "\n" + subscription.tenant;
        const std::uint32_t ordinal = alike[wants]++;
        if (ordinal > 0 && id.empty()) {
            section.warn("url",
                         "wants the same messages as one before it, and only their order in this "
                         "file tells whose waiting messages are whose: give each an id (uuidgen)");
        }
        subscription.id = static_subscription_id(subscription, ordinal);
        if (const auto given = parse_uuid(id); given) {
            subscription.id = *given;
        } else if (!id.empty()) {
            section.problem("id",
                            in_quotes(id) + " is not a UUID; leave it out, or make one: uuidgen");
        }
        if (subscription.secrets.empty() && config.secrets.tenant_pattern.empty()) {
            section.warn("secret", "there is none: requests are not signed");
        }
        if (reading.secrets == Secrets::needed) {
            for (const std::string& text : check(subscription)) section.problem({}, text);
        }
        if (http_out::problem_of_url(subscription.url).empty() &&
            http_out::judge_url(config.egress.rules, subscription.url) ==
                http_out::Verdict::bad_url) {
            section.problem("url",
                            "has a user, a fragment or characters that not everybody reads alike");
        }
        if (const std::string blocked = problem_of_egress(config.egress, subscription.url);
            !blocked.empty()) {
            section.problem("url", in_quotes(masked_url(subscription.url)) + blocked);
        }
        config.subscriptions.push_back(std::move(subscription));
    }
}

}  // namespace waybill::server
