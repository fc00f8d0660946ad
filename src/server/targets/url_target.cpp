#include "server/targets/url_target.hpp"

#include <optional>
#include <utility>

#include "deliver/judge.hpp"
#include "server/targets/outgoing.hpp"

namespace waybill::server {
namespace {

constexpr const char* kCannotSign = "the secret of this target cannot sign; see waybill check";

/// Whoever cannot be connected to says so soon; how long an answer takes is the receiver's affair.
http_out::Deadlines deadlines_of(Duration timeout) {
    const http_out::Deadlines usual;
    return {.connect = usual.connect, .tls = usual.tls, .first_byte = timeout, .total = timeout};
}

DeliveryResult result_of(const http_out::Result& result, AttemptsLog log, StoreTime now) {
    using ClientErrors = Subscription::ClientErrors;
    DeliveryResult told{.outcome = deliver::judge(result, ClientErrors::retry, now).outcome};
    if (deliver::is_logged(told.outcome, log)) {
        told.detail = json::to_text(deliver::report_of(result));
    }
    return told;
}

}  // namespace

void UrlTarget::start(std::vector<Job> jobs) {
    for (Job& job : jobs) {
        const DeliveryItem& item = job.delivery.items.front();
        std::optional<HttpHeaders> headers = outgoing_headers(item, options_.secret, clock_.wall());
        if (!headers) {
            job.completion({DeliveryResult{.outcome = Fail{.reason = kCannotSign}}});
            continue;
        }
        http_out::Request request{.url = options_.url,
                                  .headers = *std::move(headers),
                                  .body = item.message->body,
                                  .owner = item.message,
                                  .deadlines = deadlines_of(options_.timeout),
                                  .tls = options_.tls,
                                  .proxy = options_.proxy,
                                  .egress = options_.egress,
                                  .response_bytes_max = options_.response_bytes_max};
        const std::uint64_t delivery = job.delivery.number;
        // std::function wants to copy what it holds; a completion cannot be.
        auto completion = std::make_shared<Completion>(std::move(job.completion));
        const std::lock_guard lock{under_way_->mutex};
        under_way_->requests[delivery] =
            out_.start(std::move(request),
                       [completion, delivery, clock = &clock_, log = job.delivery.attempts_log,
                        under_way = under_way_](const http_out::Result& result) {
                           {
                               const std::lock_guard inner{under_way->mutex};
                               under_way->requests.erase(delivery);
                           }
                           if (result.failure == http_out::Failure::cancelled)
                               return (*completion)({});
                           (*completion)({result_of(result, log, clock->wall())});
                       });
    }
}

void UrlTarget::cancel(std::span<const std::uint64_t> numbers) {
    const std::lock_guard lock{under_way_->mutex};
    for (const std::uint64_t number : numbers) {
        const auto found = under_way_->requests.find(number);
        if (found != under_way_->requests.end()) out_.cancel(found->second);
    }
}

}  // namespace waybill::server
