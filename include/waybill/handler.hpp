#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "waybill/executor.hpp"
#include "waybill/message.hpp"
#include "waybill/outcome.hpp"
#include "waybill/runtime.hpp"

/// What a user writes: a function that is called with a message, or with many.
///
/// Returning is Done; throwing anything is Fail with the exception's text, retried with back-off.
/// That includes a handler's own timeout or cancellation error. Throwing PermanentFailure is Fail
/// without a retry. One that fails because its stop token was signalled at shutdown costs no attempt.
namespace waybill {

/// What a handler may know of the attempt it is.
///
/// Thread safety: none; the handler's own.
/// Lifetime:      the call; copy what must live longer.
class Context {
public:
    Context(const Delivery& delivery, std::stop_token stop, Clock& clock, std::size_t item = 0)
        : delivery_(delivery), stop_(std::move(stop)), clock_(clock), item_(item) {}

    /// The message of this delivery; of a batch, the first one.
    const Message& message() const { return *delivery_.items[item_].message; }
    /// 1 for the first.
    std::uint32_t attempt() const { return delivery_.items[item_].attempt; }
    /// How often an operator requeued this delivery.
    std::uint32_t requeues() const { return delivery_.items[item_].requeues; }
    /// Its place in the box; a requeue gives it a new one.
    Sequence sequence() const { return delivery_.items[item_].sequence; }

    /// The attempt counts as failed after this moment; its thread cannot be killed, so look at
    /// time_left() and stop_token() in anything that takes long.
    LocalTime deadline() const { return delivery_.deadline; }
    /// Zero when the deadline has passed.
    Duration time_left() const {
        const LocalTime now = clock_.now();
        return now >= delivery_.deadline ? Duration{} : delivery_.deadline - now;
    }
    /// Signalled at the deadline, at shutdown (for a target that ends by itself: when shutdown_timeout is
    /// over), when the partition was lost and when an operator cancels.
    const std::stop_token& stop_token() const { return stop_; }
    bool stop_requested() const { return stop_.stop_requested(); }

    /// Pass it on to what you write to: a writer with an older epoch is one that lost its partition.
    const Fence& fence() const { return delivery_.fence; }

private:
    const Delivery& delivery_;
    std::stop_token stop_;
    Clock& clock_;
    std::size_t item_;
};

/// The context of a batch: the same deadline, stop token and fence for all; attempts by item.
class BatchContext : public Context {
public:
    BatchContext(const Delivery& delivery, std::stop_token stop, Clock& clock)
        : Context(delivery, std::move(stop), clock), items_(delivery.items) {}

    std::uint32_t attempt_of(std::size_t item) const { return items_[item].attempt; }
    std::uint32_t requeues_of(std::size_t item) const { return items_[item].requeues; }
    Sequence sequence_of(std::size_t item) const { return items_[item].sequence; }

private:
    std::span<const DeliveryItem> items_;
};

/// One message per call.
using Handler = std::function<Outcome(const Message&, Context&)>;

/// One per message, in their order. Nothing, or missing at the end: not handled this time; tried
/// again, not counted.
///
/// A handler that throws has answered for none of them. Then each is called alone, at once and in
/// their order, as the same attempt and within the same deadline, so that one poison item costs the
/// others nothing; whoever had no turn in time is tried again, not counted. In a strict lane the calls
/// end at the first that is not done. Whoever failed once goes alone ever after.
using BatchOutcomes = std::vector<std::optional<Outcome>>;
/// The messages of one call, in their order.
using Batch = std::span<const Message* const>;
/// Many messages per call.
using BatchHandler = std::function<BatchOutcomes(Batch, BatchContext&)>;

/// Runs inside the store's transaction: what it writes through `native` (the adapter's own handle:
/// sqlite3*, PGconn* …) and its success commit together.
using InlineHandler = std::function<Outcome(const Message&, Context&, void* native)>;

namespace detail {

template <class F, class... Arguments>
Outcome call_for_outcome(F& function, Arguments&&... arguments) {
    using Result = std::invoke_result_t<F&, Arguments...>;
    if constexpr (std::is_void_v<Result>) {
        std::invoke(function, std::forward<Arguments>(arguments)...);
        return Done{};
    } else {
        static_assert(std::is_convertible_v<Result, Outcome>,
                      "a handler returns nothing, or Done, Fail, Defer, Dead, or Outcome");
        return std::invoke(function, std::forward<Arguments>(arguments)...);
    }
}

/// Accepts (const Message&, Context&) and (const Message&).
template <class F>
Handler to_handler(F function) {
    if constexpr (std::is_invocable_v<F&, const Message&, Context&>) {
        return [function = std::move(function)](const Message& message, Context& context) mutable {
            return call_for_outcome(function, message, context);
        };
    } else {
        static_assert(std::is_invocable_v<F&, const Message&>,
                      "a handler takes (const Message&, Context&) or (const Message&)");
        return [function = std::move(function)](const Message& message, Context&) mutable {
            return call_for_outcome(function, message);
        };
    }
}

template <class F>
BatchHandler to_batch_handler(F function) {
    static_assert(std::is_invocable_v<F&, Batch, BatchContext&>,
                  "a batch handler takes (waybill::Batch, BatchContext&)");
    using Result = std::invoke_result_t<F&, Batch, BatchContext&>;
    if constexpr (std::is_void_v<Result>) {
        return [function = std::move(function)](Batch batch, BatchContext& context) mutable {
            std::invoke(function, batch, context);
            return BatchOutcomes(batch.size(), Outcome{Done{}});
        };
    } else {
        return BatchHandler(std::move(function));
    }
}

template <class F>
InlineHandler to_inline_handler(F function) {
    static_assert(std::is_invocable_v<F&, const Message&, Context&, void*>,
                  "an inline handler takes (const Message&, Context&, void* native)");
    return [function = std::move(function)](const Message& message, Context& context,
                                            void* native) mutable {
        return call_for_outcome(function, message, context, native);
    };
}

}  // namespace detail
}  // namespace waybill
