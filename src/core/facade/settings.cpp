#include <algorithm>
#include <set>

#include "core/facade/parts.hpp"
#include "core/runtime/process_name.hpp"
#include "core/wording.hpp"
#include "waybill/system.hpp"

/// From what the user described to what the engine is told.
namespace waybill {
namespace {

constexpr std::uint32_t kThreadsMax = 4'096;
constexpr std::uint32_t kThreadsUnasked = 256;
constexpr std::uint32_t kAbandonedMax = 1'024;
constexpr std::uint32_t kWaitingMax = 10'000'000;
constexpr Duration kPollFastest = std::chrono::milliseconds{1};
constexpr Duration kPollSlowest = std::chrono::minutes{10};
constexpr Duration kSweepEvery = std::chrono::milliseconds{10};
constexpr Duration kSweepSeldom = std::chrono::hours{24 * 30};
constexpr std::uint32_t kSweepRowsMax = 100'000;

Problems check_settings(const Settings& settings) {
    Problems problems;
    if (!settings.store) {
        problems.push_back("store: nothing is open; give it what an adapter's open() returns");
    }
    if (settings.poll < kPollFastest || settings.poll > kPollSlowest) {
        problems.push_back("poll: " + detail::readable(settings.poll) +
                           " is out of bounds; use 1 ms … 10 min");
    }
    if (settings.handler_threads > kThreadsMax) {
        problems.push_back("handler_threads: " + std::to_string(settings.handler_threads) +
                           " is too many; use 0 (by concurrency) … 4,096");
    }
    if (settings.abandoned_max > kAbandonedMax) {
        problems.push_back("abandoned_max: " + std::to_string(settings.abandoned_max) +
                           " is too many; use 0 … 1,024");
    }
    if (settings.append_waiting_max == 0 || settings.append_waiting_max > kWaitingMax) {
        problems.push_back("append_waiting_max: " + std::to_string(settings.append_waiting_max) +
                           " is out of bounds; use 1 … 10,000,000");
    }
    for (const std::string& problem : check(settings.sweep)) {
        problems.push_back("sweep: " + problem);
    }
    return problems;
}

}  // namespace

Problems check(const SweepOptions& options) {
    Problems problems;
    const bool is_off = options.interval == Duration::zero();
    if (!is_off && (options.interval < kSweepEvery || options.interval > kSweepSeldom)) {
        problems.push_back("interval is " + detail::readable(options.interval) +
                           "; it must be 0 s (off), or 10 ms … 30 days");
    }
    if (options.batch_rows == 0 || options.batch_rows > kSweepRowsMax) {
        problems.push_back("batch_rows is " + detail::grouped(options.batch_rows) +
                           "; it must be 1 … 100,000");
    }
    return problems;
}

Waybill::Parts::Parts(Settings the_settings)
    : settings([&] {
          if (Problems problems = check_settings(the_settings); !problems.empty()) {
              throw ConfigError{std::move(problems)};
          }
          if (the_settings.name.empty()) the_settings.name = runtime::host_and_process();
          return std::move(the_settings);
      }()),
      clock(settings.clock != nullptr ? *settings.clock : system_clock()),
      appends(settings.store.store(),
              {.waiting_max = settings.append_waiting_max, .own_thread = settings.background}) {
    settings.store.store().on_wake([relay = wakes] { relay->wake(); });
}

Problems Waybill::Parts::problems() const {
    Problems problems = engine::check(config());
    std::set<std::string> names;
    for (const RegisteredBox& box : boxes) {
        if (!names.insert(box.name).second) {
            problems.push_back("box " + detail::in_quotes(box.name) +
                               ": described twice; keep the handle of the first and add to it");
        }
        for (const RegisteredTarget& target : box.targets) {
            const auto where = "box " + detail::in_quotes(box.name) + ", target " +
                               detail::in_quotes(target.local.target.key) + ": ";
            if (target.inline_handler && settings.store.inline_store() == nullptr) {
                problems.push_back(where +
                                   "this store runs nothing inside its transactions; use "
                                   "on() and make the handler idempotent");
            }
            if (target.local.target.key.starts_with(subscription_prefix)) {
                problems.push_back(where + "keys of subscriptions begin with " +
                                   detail::in_quotes(std::string{subscription_prefix}) +
                                   "; call it something else");
            }
            if (!target.handler && !target.batch_handler && !target.inline_handler &&
                !target.executor) {
                problems.push_back(where + "the handler is empty; give it a function");
            }
        }
    }
    if (Upkeep* upkeep = settings.store.upkeep(); upkeep && !settings.relaxed_durability) {
        for (const std::string& problem : upkeep->check_settings()) {
            problems.push_back("store: " + problem);
        }
    }
    return problems;
}

engine::Config Waybill::Parts::config(bool guest) const {
    engine::Config config;
    config.options.name = settings.name;
    config.options.lease = settings.lease;
    config.options.beat = settings.beat;
    config.options.window_bytes = settings.window_bytes;
    config.options.poll_idle = settings.poll;
    config.options.poll_active = std::min(config.options.poll_active, settings.poll);
    config.options.shutdown_timeout = settings.shutdown_timeout;
    config.options.abandoned_max = settings.abandoned_max;
    config.options.guest = guest;
    config.options.leases = settings.store.store().capabilities().many_instances;
    for (const RegisteredBox& box : boxes) {
        engine::LocalBox& local = config.boxes.emplace_back();
        local.name = box.name;
        local.options = box.options;
        bool has_handlers = false;
        for (const RegisteredTarget& target : box.targets) {
            local.targets.push_back(target.local);
            has_handlers = has_handlers || !target.executor;
        }
        local.family = box.family.get();
        // One thread runs one handler; the others would wait for it while their time runs out.
        if (!settings.background && has_handlers) {
            local.options.concurrency = 1;
        }
    }
    return config;
}

std::vector<std::vector<runtime::Carrier>> Waybill::Parts::carriers() const {
    std::vector<std::vector<runtime::Carrier>> all;
    for (const RegisteredBox& box : boxes) {
        auto& carriers = all.emplace_back();
        for (const RegisteredTarget& target : box.targets) {
            runtime::Carrier& carrier = carriers.emplace_back();
            if (target.executor) {
                carrier.executor = target.executor;
            } else if (target.handler) {
                carrier.body = runtime::single_body(target.handler);
            } else if (target.batch_handler) {
                carrier.body =
                    runtime::batch_body(target.batch_handler, box.options.lanes == Lanes::strict);
            } else {
                carrier.body = runtime::inline_body(
                    target.inline_handler, *settings.store.inline_store(), target.local.target.key);
            }
        }
        if (box.family) carriers.push_back({.executor = box.family});
    }
    return all;
}

runtime::PoolOptions Waybill::Parts::pool_options() const {
    std::uint64_t threads = settings.handler_threads;
    if (threads == 0) {
        for (const RegisteredBox& box : boxes) {
            const std::uint32_t said = box.options.concurrency;
            threads += said != 0 ? said : engine::handlers_at_once;
        }
        threads = std::clamp<std::uint64_t>(threads, 1, kThreadsUnasked);
    }
    return {.threads_max = static_cast<std::uint32_t>(threads),
            .replacements_max = settings.abandoned_max};
}

}  // namespace waybill
