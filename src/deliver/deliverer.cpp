#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/runtime/process_name.hpp"
#include "core/wording.hpp"
#include "deliver/endpoints.hpp"
#include "deliver/files.hpp"
#include "deliver/keyring.hpp"
#include "deliver/lookout.hpp"
#include "deliver/request.hpp"
#include "deliver/scribe.hpp"
#include "deliver/secret_search.hpp"
#include "deliver/worker.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/deliver.hpp"
#include "waybill/json/value.hpp"
#include "waybill/system.hpp"

namespace waybill {
namespace {

using deliver::SecretSearch;
using deliver::SubscriptionPtr;

/// Of notes on who fails: with every look at the readers, and before we go.
constexpr std::size_t kWrittenAtOnce = 50;
constexpr std::size_t kWrittenAtLast = 1'000;
constexpr std::size_t kSentTogether = 8;  ///< requests, while the next ones are signed

DeliverOptions with_instance(DeliverOptions options) {
    if (options.instance.empty()) options.instance = runtime::host_and_process();
    return options;
}

}  // namespace

struct Deliverer::Parts {
    Parts(StoreHandle the_store, std::shared_ptr<SubscriptionBook> the_book,
          DeliverOptions the_options)
        : store(std::move(the_store)),
          book(std::move(the_book)),
          options(with_instance(std::move(the_options))),
          clock(options.clock != nullptr ? *options.clock : system_clock()),
          keyring(options.secret_ttl) {
        if (!options.egress) options.egress = make_egress({});
        if (options.tenant_secret) {
            search = std::make_unique<SecretSearch>(options.tenant_secret, keyring, clock);
        }
    }

    /// A delivery whose request can go out.
    struct Ready {
        std::shared_ptr<Job> job{};
        SubscriptionPtr subscription{};
        http_out::Request request{};
    };
    using ReadyOnes = std::vector<Ready>;

    void wake();
    void start(Job job, ReadyOnes& ready);
    void searched(const std::shared_ptr<Job>& job, const SubscriptionPtr& subscription,
                  const SecretSearch::Answer& answer);
    void put_off(const std::shared_ptr<Job>& job, Duration delay);
    void sign_for_tenant(const std::shared_ptr<Job>& job, const SubscriptionPtr& subscription,
                         const std::optional<std::string>& of_tenant, ReadyOnes& ready);
    void sign(const std::shared_ptr<Job>& job, const SubscriptionPtr& subscription,
              const std::vector<std::string>& secrets, ReadyOnes& ready);
    void send(ReadyOnes ready);
    void answered(const std::shared_ptr<Job>& job, const SubscriptionPtr& subscription,
                  const http_out::Result& result);
    void tell(const SubscriptionNews& news) const;
    void disabled(const SubscriptionPtr& subscription, const std::string& reason);
    void post(std::function<void()> task);
    void end(const std::shared_ptr<Job>& job, Outcome outcome, std::string detail = {});
    void end_answered();
    void fail(const std::shared_ptr<Job>& job, std::string reason);

    StoreHandle store;
    std::shared_ptr<SubscriptionBook> book;
    DeliverOptions options;
    Clock& clock;
    deliver::Endpoints endpoints{};
    deliver::Keyring keyring;

    deliver::Lookout lookout{store, book.get(), endpoints,
                             [this](const SubscriptionNews& news) { tell(news); }};

    deliver::Scribe scribe{book.get(), endpoints, options.instance,
                           [this](const SubscriptionNews& news) { tell(news); }};

    std::mutex mutex{};  ///< guards the four below
    std::function<void()> changed{};
    /// Requests by delivery; 0: its secret is looked up.
    std::unordered_map<std::uint64_t, std::uint64_t> under_way{};
    bool closing = false;
    std::unique_ptr<deliver::Worker> worker{};

    /// On the thread of requests: what came together ends together, or each would wake the engine.
    std::vector<std::pair<std::shared_ptr<Job>, DeliveryResult>> answered_together{};

    /// Null: tenants have no secrets of their own.
    std::unique_ptr<SecretSearch> search{};

    std::unique_ptr<http_out::HttpOut> out = std::make_unique<http_out::HttpOut>(
        http_out::HttpOutOptions{.connections_kept = deliver::allow_files().connections_kept,
                                 .after_results = [this] { end_answered(); }});
};

void Deliverer::Parts::wake() {
    std::function<void()> tell_engine;
    {
        const std::lock_guard lock{mutex};
        tell_engine = changed;
    }
    if (tell_engine) tell_engine();
}

void Deliverer::Parts::start(Job job, ReadyOnes& ready) {
    const auto shared = std::make_shared<Job>(std::move(job));
    const std::string& key = shared->delivery.target;
    const auto begin = endpoints.begin(key, clock.now());
    if (!begin.subscription) return shared->completion({});
    const DeliveryItem& item = shared->delivery.items.front();
    const bool is_asked_for = item.requeues > 0;  // by name, by somebody who wants it
    if (!is_asked_for && deliver::published_at(*item.message) < begin.subscription->skip_before) {
        if (!begin.wait) endpoints.released(key);
        return end(shared, Dead{"skipped by an operator"});
    }
    if (begin.wait) return end(shared, Defer{.delay = *begin.wait, .whole_target = true});
    {
        const std::lock_guard lock{mutex};
        under_way[shared->delivery.number] = 0;
    }
    if (!options.tenant_secret || item.message->tenant.empty()) {
        return sign(shared, begin.subscription,
                    deliver::secrets_at(*begin.subscription, clock.wall()), ready);
    }
    if (const auto known = keyring.find(item.message->tenant, clock.now())) {
        return sign_for_tenant(shared, begin.subscription, known->value, ready);
    }
    // A program or a file may say it: not on the engine's thread.
    search->ask(item.message->tenant, [this, shared, subscription = begin.subscription](
                                          const SecretSearch::Answer& answer) {
        searched(shared, subscription, answer);
    });
}

void Deliverer::Parts::searched(const std::shared_ptr<Job>& job,
                                const SubscriptionPtr& subscription,
                                const SecretSearch::Answer& answer) {
    using Kind = SecretSearch::Answer::Kind;
    {
        const std::lock_guard lock{mutex};
        if (closing) return;  // and nobody waits for it any more
    }
    if (answer.kind == Kind::late) return put_off(job, answer.come_back);
    if (answer.kind == Kind::failed) {
        return fail(job, "the tenant's secret cannot be had: " + answer.text);
    }
    ReadyOnes ready;
    sign_for_tenant(job, subscription,
                    answer.kind == Kind::found ? std::optional{answer.text} : std::nullopt, ready);
    send(std::move(ready));
}

/// The endpoint has nothing to do with it, and neither has the message.
void Deliverer::Parts::put_off(const std::shared_ptr<Job>& job, Duration delay) {
    endpoints.released(job->delivery.target);
    {
        const std::lock_guard lock{mutex};
        if (under_way.erase(job->delivery.number) == 0) return job->completion({});
    }
    job->completion({DeliveryResult{.outcome = Defer{.delay = delay}}});
}

void Deliverer::Parts::sign_for_tenant(const std::shared_ptr<Job>& job,
                                       const SubscriptionPtr& subscription,
                                       const std::optional<std::string>& of_tenant,
                                       ReadyOnes& ready) {
    const auto secrets = deliver::secrets_for(*subscription, of_tenant, clock.wall());
    // Of a subscription whose own have all expired there is another thing to say.
    if (secrets.empty() && subscription->secrets.empty()) {
        const std::string& tenant = job->delivery.items.front().message->tenant;
        return fail(job, "neither the tenant " + detail::in_quotes(tenant) +
                             " nor the subscription has a secret");
    }
    sign(job, subscription, secrets, ready);
}

void Deliverer::Parts::sign(const std::shared_ptr<Job>& job, const SubscriptionPtr& subscription,
                            const std::vector<std::string>& secrets, ReadyOnes& ready) {
    if (secrets.empty() && !subscription->secrets.empty()) {
        return fail(job, "all its secrets have expired");
    }
    const DeliveryItem& item = job->delivery.items.front();
    auto request = deliver::request_of(*subscription, item.message, deliver::attempt_of(item),
                                       secrets, options, clock.wall(), subscription->timeout);
    if (!request) {
        return fail(job, "its secrets cannot sign: " +
                             webhook::problem_of_secrets(secrets, subscription->signing));
    }
    ready.push_back({job, subscription, std::move(*request)});
}

void Deliverer::Parts::send(ReadyOnes ready) {
    std::vector<http_out::Sending> sendings;
    std::vector<std::uint64_t*> numbers;
    sendings.reserve(ready.size());
    numbers.reserve(ready.size());
    const std::lock_guard lock{mutex};
    for (Ready& one : ready) {
        const auto found = under_way.find(one.job->delivery.number);
        if (closing || found == under_way.end()) {
            if (found != under_way.end()) under_way.erase(found);
            endpoints.released(one.job->delivery.target);
            one.job->completion({});
            continue;
        }
        numbers.push_back(&found->second);
        sendings.push_back({std::move(one.request),
                            [this, job = one.job, to = one.subscription](
                                const http_out::Result& result) { answered(job, to, result); }});
    }
    if (sendings.empty()) return;
    std::uint64_t number = out->start(std::move(sendings));  // results wait for the mutex
    for (std::uint64_t* const of : numbers) *of = number++;
}

void Deliverer::Parts::answered(const std::shared_ptr<Job>& job,
                                const SubscriptionPtr& subscription,
                                const http_out::Result& result) {
    const std::string& key = job->delivery.target;
    const DeliveryItem& item = job->delivery.items.front();
    if (options.on_delivery) {
        options.on_delivery(
            {.subscription = subscription->id,
             .message = item.message->id,
             .status = result.status,
             .failure = result.failure == http_out::Failure::none ? "" : name_of(result.failure),
             .verdict = result.verdict == http_out::Verdict::allowed ? "" : name_of(result.verdict),
             .took = result.timings.total});
    }
    if (result.failure == http_out::Failure::cancelled) {
        endpoints.released(key);
        const std::lock_guard lock{mutex};
        under_way.erase(job->delivery.number);
        return job->completion({});
    }
    auto judgement = deliver::judge(result, subscription->client_errors, clock.wall());
    std::string detail;
    if (deliver::is_logged(judgement.outcome, job->delivery.attempts_log)) {
        json::Object report = deliver::report_of(result);
        report.emplace_back("delivery_id",
                            to_string(webhook::delivery_id(*item.message, subscription->id,
                                                           deliver::attempt_of(item))));
        detail = json::to_text(report);
    }
    auto ended = endpoints.ended(key, *subscription, judgement, clock.now(), clock.wall());
    answered_together.emplace_back(
        job, DeliveryResult{.outcome = std::move(judgement.outcome), .detail = std::move(detail)});
    if (ended.news) {
        tell(*ended.news);
        if (ended.news->kind == SubscriptionNews::Kind::disabled) {
            disabled(subscription, ended.news->text);
        }
    }
    if (ended.failing || ended.is_well_again) {
        scribe.keep_failing(subscription->id, std::move(ended.failing));
    }
}

void Deliverer::Parts::end_answered() {
    {
        const std::lock_guard lock{mutex};
        for (const auto& [job, result] : answered_together) under_way.erase(job->delivery.number);
    }
    for (auto& [job, result] : answered_together) {
        DeliveryResults results;
        results.emplace_back(std::move(result));
        job->completion(std::move(results));
    }
    answered_together.clear();
}

void Deliverer::Parts::end(const std::shared_ptr<Job>& job, Outcome outcome, std::string detail) {
    {
        const std::lock_guard lock{mutex};
        under_way.erase(job->delivery.number);
    }
    job->completion({DeliveryResult{.outcome = std::move(outcome), .detail = std::move(detail)}});
}

/// Nobody was asked, so it says nothing of the endpoint.
void Deliverer::Parts::fail(const std::shared_ptr<Job>& job, std::string reason) {
    endpoints.released(job->delivery.target);
    end(job, Fail{.reason = std::move(reason)});
}

void Deliverer::Parts::tell(const SubscriptionNews& news) const {
    if (options.on_news) options.on_news(news);
}

/// In force here from now on; what others must know is written down on the worker.
void Deliverer::Parts::disabled(const SubscriptionPtr& subscription, const std::string& reason) {
    wake();
    scribe.keep_disabled(subscription, reason);
    post([this] { scribe.write_disabled(); });
}

void Deliverer::Parts::post(std::function<void()> task) {
    const std::lock_guard lock{mutex};
    if (!closing && worker) worker->post(std::move(task));
}

Deliverer::Deliverer(StoreHandle store, std::vector<std::shared_ptr<SubscriptionReader>> readers,
                     std::shared_ptr<SubscriptionBook> book, DeliverOptions options)
    : parts_(std::make_unique<Parts>(std::move(store), std::move(book), std::move(options))) {
    for (auto& reader : readers) parts_->lookout.add(std::move(reader));
    const std::lock_guard lock{parts_->mutex};
    parts_->worker = std::make_unique<deliver::Worker>(
        [parts = parts_.get()] {
            parts->scribe.write_disabled();
            parts->scribe.write_failing(kWrittenAtOnce);
            if (parts->lookout.look_again()) parts->wake();
        },
        parts_->options.refresh);
}

Deliverer::~Deliverer() {
    std::unique_ptr<deliver::Worker> worker;
    {
        const std::lock_guard lock{parts_->mutex};
        parts_->closing = true;
        parts_->changed = {};
        worker = std::move(parts_->worker);
    }
    worker.reset();
    parts_->search.reset();
    parts_->out.reset();
    parts_->scribe.write_disabled();
    parts_->scribe.write_failing(kWrittenAtLast);
}

void Deliverer::start(std::vector<Job> jobs) {
    Parts::ReadyOnes ready;
    for (Job& job : jobs) {
        parts_->start(std::move(job), ready);
        const bool is_last = &job == &jobs.back();
        if (is_last || ready.size() >= kSentTogether) parts_->send(std::exchange(ready, {}));
    }
}

void Deliverer::cancel(std::span<const std::uint64_t> numbers) {
    const std::lock_guard lock{parts_->mutex};
    for (const std::uint64_t number : numbers) {
        const auto found = parts_->under_way.find(number);
        if (found == parts_->under_way.end()) continue;
        if (found->second == 0) {
            parts_->under_way.erase(found);
        } else {
            parts_->out->cancel(found->second);
        }
    }
}

std::uint64_t Deliverer::version() const {
    return parts_->endpoints.version();
}

TargetOptions Deliverer::options_of(const std::string& key) {
    return parts_->endpoints.options_of(key);
}

void Deliverer::on_change(std::function<void()> changed) {
    const std::lock_guard lock{parts_->mutex};
    parts_->changed = std::move(changed);
}

void Deliverer::prepare() {
    refresh();
}

void Deliverer::refresh() {
    if (parts_->lookout.look()) parts_->wake();
}

std::vector<Subscription> Deliverer::subscriptions() const {
    return parts_->endpoints.all();
}

std::vector<Subscription> Deliverer::unusable() const {
    return parts_->endpoints.unusable();
}

SubscriptionCounts Deliverer::counts() const {
    return parts_->endpoints.counts(parts_->clock.now());
}

}  // namespace waybill
