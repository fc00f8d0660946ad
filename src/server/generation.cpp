#include "server/generation.hpp"

#include <algorithm>
#include <utility>

#include "server/deliver_options.hpp"
#include "server/egress.hpp"
#include "server/targets/url_target.hpp"
#include "waybill/console.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

Settings settings_of(const Config& config, StoreAccess& store) {
    return {.store = store.connect_for(config.engine.lease),
            .name = config.instance == "auto" ? std::string{} : config.instance,
            .lease = config.engine.lease,
            .beat = config.engine.lease / 5,
            .window_bytes = config.engine.window,
            .poll = config.engine.poll,
            .shutdown_timeout = config.engine.shutdown_timeout,
            .append_waiting_max = config.server.waiting_max,
            .relaxed_durability = config.relaxed_durability};
}

On on_of(const TargetConfig& config) {
    return {.after = config.target.after,
            .after_dead = config.target.after_dead,
            .max_attempts = config.options.retry.max_attempts,
            .backoff = config.options.retry.backoff,
            .timeout = config.options.timeout,
            .concurrency = config.options.concurrency,
            .rate = config.options.rate,
            .source = config.target.matcher.source,
            .tenant = config.target.matcher.tenant,
            .legacy_keys = config.target.legacy_keys,
            .ends_by_itself = true};
}

/// The message, as a line of the log: for first steps and for watching.
Handler log_target(Log& log) {
    return [&log](const Message& message, Context& context) -> Outcome {
        const std::string id = to_string(message.id);
        const std::string bytes = std::to_string(message.body.size());
        const std::string attempt = std::to_string(context.attempt());
        log.write(LogLevel::info, "message",
                  {{"id", id},
                   {"source", message.source},
                   {"type", message.type},
                   {"bytes", bytes},
                   {"attempt", attempt}});
        return Done{};
    };
}

using Rules = std::shared_ptr<const http_out::Egress>;

void add_target(Box box, const TargetConfig& config, const Config& all, const Rules& rules,
                http_out::HttpOut& out, const std::shared_ptr<RunningCommands>& commands,
                Log& log) {
    const std::string& type = config.target.matcher.type;
    const std::string& key = config.target.key;
    if (!config.url.empty()) {
        box.to(type, key,
               std::make_shared<UrlTarget>(
                   UrlTargetOptions{.url = config.url,
                                    .secret = config.secret,
                                    .timeout = config.options.timeout,
                                    .tls = {.ca_file = all.egress.ca,
                                            .certificate_file = all.egress.client_cert,
                                            .key_file = all.egress.client_key},
                                    .proxy = all.egress.proxy,
                                    .egress = rules,
                                    .response_bytes_max = all.egress.response_max},
                   out, system_clock()),
               on_of(config));
    } else if (!config.command.empty()) {
        box.on(type, key, command_target(config.command, all.secret_variables, commands),
               on_of(config));
    } else {
        box.on(type, key, log_target(log), on_of(config));
    }
}

void tell(Log& log, const SubscriptionNews& news) {
    using Kind = SubscriptionNews::Kind;
    const std::string id = news.subscription.is_nil() ? "" : to_string(news.subscription);
    switch (news.kind) {
        case Kind::failing:
            return log.write(LogLevel::warn, "subscription fails, and is left alone for a while",
                             {{"subscription", id}, {"reason", news.text}});
        case Kind::recovered:
            return log.write(LogLevel::info, "subscription answers again", {{"subscription", id}});
        case Kind::disabled:
            return log.write(LogLevel::error, "subscription disabled; its messages wait",
                             {{"subscription", id}, {"reason", news.text}});
        case Kind::unreadable:
            return log.write(LogLevel::error, "subscriptions cannot be read",
                             {{"subscription", id}, {"reason", news.text}});
    }
}

std::shared_ptr<Deliverer> make_deliverer(const Config& config, StoreAccess& store, Log& log,
                                          Metrics& metrics) {
    const StoreHandle handle = store.connect();
    auto book =
        std::make_shared<SubscriptionBook>(store.notebook(), handle, sealing_key_of(config));
    DeliverOptions options = deliver_options_of(config);
    options.on_delivery = [&metrics](const DeliveryReport& report) {
        metrics.count_delivery(report);
    };
    if (config.instance != "auto") options.instance = config.instance;
    options.on_news = [&log](const SubscriptionNews& news) { tell(log, news); };
    // Of a command that works for one box alone the others are none of its business.
    std::vector<Subscription> fixed = config.subscriptions;
    std::erase_if(fixed, [&](const Subscription& one) {
        return std::ranges::find(config.boxes, one.box, &BoxConfig::name) == config.boxes.end();
    });
    const std::vector<std::shared_ptr<SubscriptionReader>> readers{
        std::make_shared<FixedSubscriptions>(std::move(fixed)), reader_of(book)};
    return std::make_shared<Deliverer>(handle, readers, book, std::move(options));
}

LogLevel level_of(const Event& event) {
    using Kind = Event::Kind;
    switch (event.kind) {
        case Kind::resigned:
        case Kind::reconciled:
        case Kind::settle_unstorable: return LogLevel::error;
        case Kind::died:
        case Kind::halted:
        case Kind::struck:
        case Kind::lease_late:
        case Kind::settle_failed:
        case Kind::read_failed:
        case Kind::beat_failed:
        case Kind::timed_out: return LogLevel::warn;
        // A count of none: it is over.
        case Kind::fused: return event.count == 0 ? LogLevel::info : LogLevel::warn;
        case Kind::lost:
        case Kind::rescan:
        case Kind::lease_renewed:
        case Kind::accepted:
        case Kind::failed: return LogLevel::info;
        default: return LogLevel::debug;
    }
}

}  // namespace

void EngineLog::on_event(const Event& event) noexcept {
    const LogLevel level = level_of(event);
    if (!log_.wants(level)) return;
    const bool is_of_message = event.message != Uuid{};
    const std::string message = is_of_message ? to_string(event.message) : std::string{};
    // What is about no message is told in words.
    const std::string reason = is_of_message ? std::string{event.text} : describe(event);
    log_.write(level, to_string(event.kind),
               {{"message", message}, {"target", event.target}, {"reason", reason}});
}

Generation::Generation(const Config& config, StoreAccess& store, http_out::HttpOut& out, Log& log,
                       Metrics& metrics)
    : engine_log(log),
      counts(metrics, config),
      deliverer(make_deliverer(config, store, log, metrics)),
      app(settings_of(config, store)),
      log_(log) {
    app.observe(engine_log);
    app.observe(counts);
    const auto rules = std::make_shared<const http_out::Egress>(egress_of(config));
    for (const BoxConfig& box : config.boxes) {
        Box described = app.box(box.name, box.options);
        described.to_subscriptions(deliverer);
        for (const TargetConfig& target : config.targets) {
            if (target.target.box == box.name) {
                add_target(described, target, config, rules, out, commands_, log);
            }
        }
    }
    intake = std::make_unique<Intake>(app, config.sources,
                                      IntakeOptions{.body_bytes_max = config.server.body_max});
}

void Generation::start() {
    app.start();
    try {
        intake->recall();
    } catch (const StoreError& error) {
        log_.write(LogLevel::warn, "bodies of weak ids are not known", {{"reason", error.what()}});
    }
}

void Generation::begin_to_stop() {
    stopping_ = std::thread{[this] { app.stop(); }};  // lint: allow(seams) see there
}

Generation::~Generation() {
    if (stopping_.joinable()) stopping_.join();
    intake.reset();
    app.stop();
    // An engine that has given up leaves threads behind, and a command that one of them waits for.
    commands_->kill_all();
}

void Farewell::to(std::unique_ptr<Generation> leaving) {
    wait();
    is_over_ = false;
    auto leave = [this, leaving = std::move(leaving)]() mutable {
        leaving.reset();
        is_over_ = true;
    };
    thread_ = std::thread{std::move(leave)};  // lint: allow(seams) see there
}

void Farewell::wait() {
    if (thread_.joinable()) thread_.join();
}

}  // namespace waybill::server
