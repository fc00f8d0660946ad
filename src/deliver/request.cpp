#include "deliver/request.hpp"

#include <algorithm>
#include <utility>

namespace waybill::deliver {
namespace {

constexpr std::uint32_t kGeneration = 1U << 16;

}  // namespace

std::vector<std::string> secrets_at(const Subscription& subscription, StoreTime now) {
    std::vector<std::string> secrets;
    for (const SubscriptionSecret& secret : subscription.secrets) {
        if (now < secret.until) secrets.push_back(secret.value);
    }
    return secrets;
}

std::vector<std::string> secrets_for(const Subscription& subscription,
                                     const std::optional<std::string>& of_tenant, StoreTime now) {
    if (of_tenant) return {*of_tenant};
    return secrets_at(subscription, now);
}

StoreTime published_at(const Message& message) {
    const auto& bytes = message.id.bytes;
    if (bytes[6] >> 4 != 7) return {};
    std::int64_t milliseconds = 0;
    for (std::size_t i = 0; i < 6; ++i) milliseconds = milliseconds << 8 | bytes[i];
    return StoreTime{std::chrono::milliseconds{milliseconds}};
}

std::uint32_t attempt_of(const DeliveryItem& item) {
    return item.attempt + item.requeues * kGeneration;
}

std::optional<http_out::Request> request_of(const Subscription& subscription,
                                            const MessagePtr& message, std::uint32_t attempt,
                                            const std::vector<std::string>& secrets,
                                            const DeliverOptions& options, StoreTime now,
                                            Duration most) {
    auto headers = webhook::headers_of({.message = *message,
                                        .subscription = subscription.id,
                                        .attempt = attempt,
                                        .now = now,
                                        .secrets = secrets,
                                        .sets = subscription.signing,
                                        .own = &subscription.headers});
    if (!headers) return std::nullopt;
    const http_out::Deadlines usual{};
    return http_out::Request{
        .url = subscription.url,
        .headers = std::move(*headers),
        .body = message->body,
        .owner = message,
        .deadlines = {.connect = std::min(usual.connect, most),
                      .tls = std::min(usual.tls, most),
                      .first_byte = most,
                      .total = most},
        .tls = {.ca_file = options.ca_file,
                .certificate_file = options.certificate_file,
                .key_file = options.key_file},
        .proxy = options.proxy,
        .egress = options.egress,
        .response_bytes_max = options.response_bytes_max,
    };
}

}  // namespace waybill::deliver
