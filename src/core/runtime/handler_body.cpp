#include "core/runtime/handler_body.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <typeinfo>
#include <utility>
#include <vector>

#include <cxxabi.h>

#include "core/text.hpp"
#include "waybill/store.hpp"

namespace waybill::runtime {
namespace {

/// What a caught object that is no std::exception was.
std::string thrown_type() {
    const std::type_info* type = abi::__cxa_current_exception_type();
    if (type == nullptr) return "the handler threw something unknown";
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name{
        abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free};
    return std::string{"the handler threw a "} + (status == 0 ? name.get() : type->name());
}

/// The exception in hand as a failure. Thread cancellation is not one: it must go on.
Fail failure_in_hand() {
    try {
        throw;
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (const std::exception& error) {
        const std::string text = clean_text(error.what(), reason_bytes_max);
        return {.reason = text.empty() ? thrown_type() : text,
                .permanent = dynamic_cast<const PermanentFailure*>(&error) != nullptr};
    } catch (...) {
        return {.reason = thrown_type()};
    }
}

Outcome cleaned(Outcome outcome) {
    if (auto* fail = std::get_if<Fail>(&outcome)) {
        fail->reason = clean_text(fail->reason, reason_bytes_max);
    } else if (auto* dead = std::get_if<Dead>(&outcome)) {
        dead->reason = clean_text(dead->reason, reason_bytes_max);
    }
    return outcome;
}

class SingleBody final : public HandlerBody {
public:
    explicit SingleBody(Handler handler) : handler_(std::move(handler)) {}

    DeliveryResults call(const Delivery& delivery, const std::stop_token& stop,
                         Clock& clock) override {
        DeliveryResults results(delivery.items.size());
        for (std::size_t i = 0; i < results.size(); ++i) {
            Context context{delivery, stop, clock, i};
            try {
                results[i] = {cleaned(handler_(*delivery.items[i].message, context))};
            } catch (...) {
                results[i].emplace().outcome = failure_in_hand();
            }
        }
        return results;
    }

private:
    Handler handler_;
};

bool is_done(const std::optional<DeliveryResult>& result) {
    return result && std::holds_alternative<Done>(result->outcome);
}

class BatchBody final : public HandlerBody {
public:
    BatchBody(BatchHandler handler, bool strict) : handler_(std::move(handler)), strict_(strict) {}

    DeliveryResults call(const Delivery& delivery, const std::stop_token& stop,
                         Clock& clock) override {
        try {
            return together(delivery, stop, clock);
        } catch (...) {
            const Fail failure = failure_in_hand();
            DeliveryResults results;
            if (delivery.items.size() > 1) results = one_by_one(delivery, stop, clock);
            // Nobody had a turn: it was told to stop, or the time was up.
            if (results.empty()) results.assign(delivery.items.size(), DeliveryResult{failure});
            return results;
        }
    }

private:
    DeliveryResults together(const Delivery& delivery, const std::stop_token& stop, Clock& clock) {
        const std::size_t count = delivery.items.size();
        std::vector<const Message*> messages;
        messages.reserve(count);
        for (const DeliveryItem& item : delivery.items) messages.push_back(item.message.get());

        BatchContext context{delivery, stop, clock};
        BatchOutcomes outcomes = handler_(messages, context);
        if (outcomes.size() > count) {
            return DeliveryResults(count, DeliveryResult{too_many(outcomes.size(), count)});
        }
        DeliveryResults results(count);
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (outcomes[i]) results[i] = {cleaned(std::move(*outcomes[i]))};
        }
        return results;
    }

    /// Whose fault it was shows when each is called alone. A call that would hardly end before the
    /// deadline is not begun: past it, those that went well would count as failed too.
    DeliveryResults one_by_one(const Delivery& delivery, const std::stop_token& stop,
                               Clock& clock) {
        DeliveryResults results;
        Duration longest{};
        for (const DeliveryItem& item : delivery.items) {
            const LocalTime begun = clock.now();
            if (stop.stop_requested() || begun >= delivery.deadline ||
                delivery.deadline - begun <= longest) {
                break;
            }
            const Delivery alone{delivery.number, {item}, delivery.fence, delivery.deadline};
            try {
                results.push_back(together(alone, stop, clock).front());
            } catch (...) {
                results.emplace_back(DeliveryResult{failure_in_hand()});
            }
            longest = std::max(longest, clock.now() - begun);
            const bool holds_its_lane = strict_ && !item.message->lane.empty();
            if (holds_its_lane && !is_done(results.back())) break;
        }
        return results;
    }

    static Fail too_many(std::size_t outcomes, std::size_t messages) {
        return {.reason = "the batch handler answered " + std::to_string(outcomes) +
                          " outcomes for " + std::to_string(messages) +
                          " messages; answer one per message, in their order"};
    }

    BatchHandler handler_;
    const bool strict_;
};

class InlineBody final : public HandlerBody {
public:
    InlineBody(InlineHandler handler, InlineStore& store, std::string target)
        : handler_(std::move(handler)), store_(store), target_(std::move(target)) {}

    DeliveryResults call(const Delivery& delivery, const std::stop_token& stop,
                         Clock& clock) override {
        DeliveryResults results(delivery.items.size());
        for (std::size_t i = 0; i < results.size(); ++i) {
            const DeliveryItem& item = delivery.items[i];
            Context context{delivery, stop, clock, i};
            try {
                InlineResult result = store_.run_inline(
                    {delivery.fence, item.sequence, item.message->id, target_},
                    [&](void* native) { return handler_(*item.message, context, native); });
                results[i] = {cleaned(std::move(result.outcome)), result.record};
            } catch (const StoreError& error) {
                results[i] = of_store(error);
            } catch (...) {
                results[i].emplace().outcome = failure_in_hand();
            }
        }
        return results;
    }

private:
    /// The store's trouble is not the message's: tried again, not counted, unless a value of its own
    /// can never be stored.
    static std::optional<DeliveryResult> of_store(const StoreError& error) {
        if (error.reaction() == Reaction::find_out) {
            return DeliveryResult{Done{}, InlineResult::Record::unknown};
        }
        if (error.reaction() == Reaction::bad_data) {
            return DeliveryResult{Fail{.reason = clean_text(error.what(), reason_bytes_max)}};
        }
        return std::nullopt;
    }

    InlineHandler handler_;
    InlineStore& store_;
    std::string target_;
};

}  // namespace

std::unique_ptr<HandlerBody> single_body(Handler handler) {
    return std::make_unique<SingleBody>(std::move(handler));
}

std::unique_ptr<HandlerBody> batch_body(BatchHandler handler, bool strict) {
    return std::make_unique<BatchBody>(std::move(handler), strict);
}

std::unique_ptr<HandlerBody> inline_body(InlineHandler handler, InlineStore& store,
                                         std::string target) {
    return std::make_unique<InlineBody>(std::move(handler), store, std::move(target));
}

}  // namespace waybill::runtime
