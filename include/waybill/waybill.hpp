#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waybill/append.hpp"
#include "waybill/box.hpp"
#include "waybill/codec.hpp"
#include "waybill/dead_letters.hpp"
#include "waybill/executor.hpp"
#include "waybill/handler.hpp"
#include "waybill/health.hpp"
#include "waybill/message.hpp"
#include "waybill/observer.hpp"
#include "waybill/presets.hpp"
#include "waybill/retention.hpp"
#include "waybill/runtime.hpp"
#include "waybill/store_handle.hpp"
#include "waybill/target.hpp"

/// The front door: boxes, handlers, append, run.
namespace waybill {

/// What an application is told when it is made. Every field but the store has a default.
struct Settings {
    /// What an adapter's open() returned. Required.
    StoreHandle store{};
    /// How people see this instance. Empty: host name and process id.
    std::string name{};
    /// A silent instance keeps its partitions this long. 100 ms … 10 min.
    Duration lease = std::chrono::seconds{5};
    /// Pause between signs of life; below a third of the lease.
    Duration beat = std::chrono::seconds{1};
    /// Memory for scheduled messages. At least 64 KiB.
    std::uint64_t window_bytes = 64ULL << 20;
    /// The slowest look at the store, for when every wake-up is lost. 1 ms … 10 min.
    Duration poll = std::chrono::seconds{1};
    /// How long stop() waits for handlers to end.
    Duration shutdown_timeout = std::chrono::seconds{30};
    /// Threads for handlers. 0: what the boxes' concurrency asks for, at most 256. 0 … 4,096.
    std::uint32_t handler_threads = 0;
    /// Handlers stuck past their deadline that are replaced before this instance gives up. 0 … 1,024.
    std::uint32_t abandoned_max = 8;
    /// Messages that may wait in append() while others are being stored. 1 … 10,000,000.
    std::uint32_t append_waiting_max = 100'000;
    /// Brings the store's schema to this version at the start.
    bool migrate = true;
    /// Run on store settings that break a promise; health() says so.
    bool relaxed_durability = false;
    /// Deletes in the background what the boxes no longer keep.
    SweepOptions sweep{};
    /// Off: nothing happens by itself. Store calls and handlers run one after the other on the thread
    /// that calls step(), run_once() or one of the waiting functions.
    bool background = true;
    /// Null: this host's own. One of yours outlives the application; if it can stand still, switch
    /// `background` off.
    Clock* clock = nullptr;
    /// The engine's own chance, such as the jitter of retries. Null: this host's. One of yours outlives
    /// the application and is asked by one thread at a time.
    Random* random = nullptr;
};

/// How one target of a box is run.
struct On {
    /// Runs only when that target is done. Empty: at once, independent of the others.
    std::string after{};
    AfterDead after_dead = AfterDead::block;
    /// Attempts in total, the first included. 1 … 1,000.
    std::uint32_t max_attempts = 5;
    Backoff backoff{};
    /// One attempt may take this long; then it counts as failed. 1 ms … 24 h.
    Duration timeout = std::chrono::seconds{30};
    /// Running deliveries across all live instances. 0 = only the box's limit.
    std::uint32_t concurrency = 0;
    /// Starts per second across all live instances. 0 = no limit.
    double rate = 0.0;
    /// Wildcards, as in Matcher.
    std::string source = "*";
    std::string tenant = "*";
    /// Former keys of this target.
    std::vector<std::string> legacy_keys{};
    /// on_batch: messages per call at most. 1 … 10,000.
    std::uint32_t batch_max = 100;
    /// At a stop it is told when shutdown_timeout is over, not at once, and counts as it ends.
    bool ends_by_itself = false;
};

/// The target options of a preset, for those who come from another library:
///
///     const Preset old = presets::inbox_net();
///     app.box("inbox", old.box).on("invoice.*", "billing", charge, on_like(old));
On on_like(const Preset& preset);

class Waybill;

/// A box while it is being described. A handle: copies mean the same box.
///
/// How messages come to a handler is the box's `lanes` and the way it is registered:
///
/// |                           | on()                         | on_batch()                          |
/// |---------------------------|------------------------------|-------------------------------------|
/// | Lanes::none, or no lane   | one by one, side by side     | up to batch_max of one type         |
/// | Lanes::strict, with lane  | FIFO: one by one per lane    | FIFO: per lane, runs of equal type  |
///
/// Lanes::exclusive is as strict, except that a failed message may be overtaken while it backs off.
class Box {
public:
    /// Messages whose type matches (`*` is a wildcard) go to `handler` as the target `key`: the key
    /// is the identity of the delivery in the store, so keep it when code is renamed.
    template <class F>
    Box on(std::string type, std::string key, F handler, On options = {}) {
        return add(std::move(type), std::move(key), detail::to_handler(std::move(handler)),
                   std::move(options));
    }
    /// The same with the payload as a T: (const T&), (const T&, Context&) or (const T&, const
    /// Message&, Context&). A body that cannot be decoded is a dead letter at once.
    template <class T, CodecFor<T> C = Codec<T>, class F>
    Box on(std::string type, std::string key, F handler, On options = {}) {
        return add(std::move(type), std::move(key),
                   detail::to_typed_handler<T, C>(std::move(handler)), std::move(options));
    }
    /// Up to batch_max messages of one type per call; outcomes by message.
    template <class F>
    Box on_batch(std::string type, std::string key, F handler, On options = {}) {
        return add_batch(std::move(type), std::move(key),
                         detail::to_batch_handler(std::move(handler)), std::move(options));
    }
    /// The same with payloads: (TypedBatch<T>, BatchContext&). Outcomes are for those in the typed
    /// batch, in its order; what cannot be decoded is not in it and is a dead letter at once.
    template <class T, CodecFor<T> C = Codec<T>, class F>
    Box on_batch(std::string type, std::string key, F handler, On options = {}) {
        return add_batch(std::move(type), std::move(key),
                         detail::to_typed_batch_handler<T, C>(std::move(handler)),
                         std::move(options));
    }
    /// Inside the store's transaction: exactly-once effects, where the store can do that.
    template <class F>
    Box on_inline(std::string type, std::string key, F handler, On options = {}) {
        return add_inline(std::move(type), std::move(key),
                          detail::to_inline_handler(std::move(handler)), std::move(options));
    }
    /// To an executor of your own.
    Box to(std::string type, std::string key, std::shared_ptr<Executor> executor, On options = {});
    /// Every target of this box that is registered as a subscription, now or later, by whomever.
    Box to_subscriptions(std::shared_ptr<TargetFamily> family);

private:
    friend class Waybill;
    Box(Waybill& app, std::size_t index) : app_(&app), index_(index) {}

    Box add(std::string type, std::string key, Handler handler, On options);
    Box add_batch(std::string type, std::string key, BatchHandler handler, On options);
    Box add_inline(std::string type, std::string key, InlineHandler handler, On options);

    Waybill* app_;
    std::size_t index_;
};

/// The boxes of one application on one store.
///
/// Describe boxes and targets, then start. Without start() it can append: write-only use.
///
/// Thread safety: boxes, targets and observers are described by one thread while nothing runs;
///                append, status, health, wait_idle and stop from any thread, but not from an
///                observer. Handlers run on threads of their own and may append. Hooks may append
///                too; neither they nor handlers start or stop.
/// Lifetime:      observers outlive it. The destructor stops. A handler that never returns is left
///                behind on its thread, with what it captured.
/// Errors:        ConfigError with all problems before anything starts. What fails later goes to
///                the observers and to health(); append() throws InvalidMessage, Overloaded, and
///                StoreError when nothing was stored.
class Waybill {
public:
    explicit Waybill(Settings settings);
    ~Waybill();
    Waybill(const Waybill&) = delete;
    Waybill& operator=(const Waybill&) = delete;

    /// What comes in: messages no target matches are parked until one does.
    Box inbox(std::string name, BoxOptions options = {});
    /// What goes out: messages nobody subscribes to are done.
    Box outbox(std::string name, BoxOptions options = {});
    /// With exactly these options.
    Box box(std::string name, BoxOptions options);
    /// Hears everything that happens here, on the engine's thread.
    void observe(Observer& observer);
    /// Called by start(), run() and run_once() before anything is handled, in their order. If one
    /// throws, the stop hooks are called, nothing starts, and its exception is passed on.
    void on_start(std::function<void()> hook);
    /// Called when everything has stopped, the last one first. One that throws keeps no other from
    /// being called; observers hear of it as `hook_failed`.
    void on_stop(std::function<void()> hook);

    /// Durable when it returns. Calls that wait while others are being stored share their commit.
    /// `box` may be left out when there is only one.
    AppendResult append(Message message);
    /// All or none.
    std::vector<AppendResult> append(std::span<const Message> messages);
    std::vector<AppendResult> append(std::initializer_list<Message> messages);
    /// All or none; the bodies are moved. A template only so that braces always mean one message.
    template <std::same_as<std::vector<Message>> Messages>
    std::vector<AppendResult> append(Messages messages) {
        return append_moved(std::move(messages));
    }

    /// Shares a commit too, but returns at once; `answered` is called when it is durable or has
    /// failed. Throws what append() throws before it reaches the store, and then calls nothing.
    /// Without `background` the caller's thread carries it out.
    void append_async(Message message, AppendCallback answered);
    /// So much is waiting to be stored that another append would be refused: shed load early.
    bool is_overloaded() const;

    /// Begins to own and to handle; returns at once. Any number of times, after each stop().
    void start();
    /// No new starts; running handlers get their stop token and shutdown_timeout to end, those that end by
    /// themselves the token only after that; what has not ended is given back uncounted. Returns when
    /// all of it is done.
    void stop();
    /// start(), until SIGTERM or SIGINT or stop(), then stop().
    void run();

    /// For cron and serverless hosts: as a guest, take what is free, handle what is due, leave.
    /// Starts at most `deliveries_max` of them, and waits for those it started, but no longer than
    /// `at_most`. Returns the deliveries that ended (done or dead).
    std::uint64_t run_once(Duration at_most = std::chrono::seconds{30},
                           std::uint64_t deliveries_max = no_limit);
    static constexpr std::uint64_t no_limit = UINT64_MAX;

    /// Without `background`, between start() and stop(): one round of what is due now. Returns when
    /// the next round is due by the application's clock, which may be at once; an append makes one
    /// due too.
    LocalTime step();
    /// Until everything appended before the call has been handled and nothing is due. Retries that
    /// wait for their time do not count. False: not within `timeout`, or not started.
    bool wait_idle(Duration timeout = std::chrono::seconds{30});
    /// The same, and also until what waits for its time (a retry, a not-before within the next
    /// minute) is done or dead.
    bool wait_done(Duration timeout = std::chrono::seconds{30});
    /// start() if need be, wait_idle(), and stop() if it was started here.
    bool run_until_idle(Duration timeout = std::chrono::seconds{30});

    /// Deletes what the boxes no longer keep, in batches, until nothing is left to delete; returns
    /// what it deleted. A running application does it by itself (Settings::sweep).
    Swept sweep();
    /// Looks at dead letters, requeues and discards them. Throws ConfigError when the store cannot.
    DeadLetters dead_letters();

    Status status();
    /// As a start would, it makes what the store lacks (Settings::migrate). A store that cannot be
    /// reached is an answer, not an error.
    Health health(const HealthLimits& limits = {});

    /// People's questions and orders. As a start would, it makes what the store lacks. Throws
    /// ConfigError when the store cannot.
    Catalogue& catalogue();
    Upkeep& upkeep();

    struct Parts;

private:
    friend class Box;
    std::vector<AppendResult> append_moved(std::vector<Message> messages);

    std::unique_ptr<Parts> parts_;
};

}  // namespace waybill
