#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "waybill/box.hpp"
#include "waybill/inline.hpp"
#include "waybill/message.hpp"
#include "waybill/outcome.hpp"
#include "waybill/target.hpp"
#include "waybill/work.hpp"

/// The seam to whatever carries a delivery out: in-process handlers are one executor, an HTTP client
/// or a broker another.
namespace waybill {

/// One message of a delivery.
struct DeliveryItem {
    MessagePtr message{};
    Sequence sequence = 0;
    /// 1 for the first.
    std::uint32_t attempt = 1;
    /// How often an operator requeued it.
    std::uint32_t requeues = 0;
};

/// One attempt of a target: one message, or a batch for a target that takes batches.
struct Delivery {
    /// Names this attempt in Executor::cancel; never used twice by one instance.
    std::uint64_t number = 0;
    std::vector<DeliveryItem> items{};
    /// Proof of ownership at the start, to pass downstream.
    Fence fence{};
    /// After this the attempt counts as failed, whatever becomes of it.
    LocalTime deadline = local_never;
    /// Which attempts are written down: of others nobody reads a `DeliveryResult::detail`.
    AttemptsLog attempts_log = AttemptsLog::failures;
    /// For a TargetFamily: the key of the target. Empty for others, who know.
    std::string target{};
};

/// What an executor may say of an attempt beside its outcome.
inline constexpr std::size_t detail_bytes_max = std::size_t{128} << 10;

/// What became of one item.
struct DeliveryResult {
    Outcome outcome{};
    /// Inline targets only.
    InlineResult::Record record = InlineResult::Record::not_done;
    /// For the log of attempts: JSON, at most detail_bytes_max; a longer one is left out and said so.
    std::string detail{};

    bool operator==(const DeliveryResult&) const = default;
};

/// One per item, in their order. Nothing, or missing at the end: released, tried again, not counted.
using DeliveryResults = std::vector<std::optional<DeliveryResult>>;

/// The right and the duty to answer one delivery. Dropped without an answer it answers "released",
/// so that no delivery is ever forgotten.
///
/// Thread safety: one thread at a time; any thread.
/// Lifetime:      may outlive the instance that handed it out; the answer then goes nowhere.
class Completion {
public:
    /// Where answers go: the engine.
    class Sink {
    public:
        virtual ~Sink() = default;
        /// `results` has one place per item.
        virtual void complete(std::uint64_t number, DeliveryResults results) noexcept = 0;
    };

    Completion(std::shared_ptr<Sink> sink, std::uint64_t number, std::size_t items)
        : sink_(std::move(sink)), number_(number), items_(items) {}
    Completion(Completion&& other) noexcept = default;
    Completion& operator=(Completion&& other) noexcept {
        std::swap(sink_, other.sink_);
        std::swap(number_, other.number_);
        std::swap(items_, other.items_);
        return *this;
    }
    ~Completion() { (*this)({}); }

    /// The first answer counts; later ones are ignored.
    void operator()(DeliveryResults results) noexcept {
        if (const auto sink = std::move(sink_)) {
            results.resize(items_);
            sink->complete(number_, std::move(results));
        }
    }

private:
    std::shared_ptr<Sink> sink_;
    std::uint64_t number_;
    std::size_t items_;
};

/// A delivery with the duty to answer it.
struct Job {
    Delivery delivery{};
    Completion completion;
};

/// Thread safety: called on the engine's thread, so neither function may block; completions come
///                from any thread.
/// Lifetime:      outlives the instance it is registered with.
/// Errors:        throws nothing: a failure is an outcome.
class Executor {
public:
    virtual ~Executor() = default;

    /// Starts all of them. Each completion is called exactly once (or dropped), even after cancel.
    virtual void start(std::vector<Job> jobs) = 0;
    /// Asks these to end soon; numbers it does not know are ignored.
    virtual void cancel(std::span<const std::uint64_t> numbers) = 0;
};

/// Carries out all targets of a box whose keys begin with `subscription_prefix`, also those that are
/// registered while the instance runs. Whoever registers one puts its options here first.
///
/// Thread safety: the two below come on the engine's thread and do not block.
class TargetFamily : public Executor {
public:
    /// Another number than last time: ask for the options again.
    virtual std::uint64_t version() const = 0;
    /// Of one that it does not know (yet): held.
    virtual TargetOptions options_of(const std::string& key) = 0;
    /// So many run at once, in all boxes together that do not say it themselves (`BoxOptions::concurrency`). 1 or more;
    /// the same as long as an instance lives.
    virtual std::uint32_t at_once() const { return 4'096; }
    /// Called before an instance starts, when the store knows its boxes.
    virtual void prepare() {}
    /// Called by who changed something, from any thread, so that it counts at once. Set before the start.
    virtual void on_change(std::function<void()> changed) = 0;
};

}  // namespace waybill
