#include "core/runtime/handler_body.hpp"

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
        return {.reason = text.empty() ? thrown_type() : text};
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
                results[i] = {failure_in_hand()};
            }
        }
        return results;
    }

private:
    Handler handler_;
};

class BatchBody final : public HandlerBody {
public:
    explicit BatchBody(BatchHandler handler) : handler_(std::move(handler)) {}

    DeliveryResults call(const Delivery& delivery, const std::stop_token& stop,
                         Clock& clock) override {
        const std::size_t count = delivery.items.size();
        std::vector<const Message*> messages;
        messages.reserve(count);
        for (const DeliveryItem& item : delivery.items) messages.push_back(item.message.get());

        BatchContext context{delivery, stop, clock};
        try {
            BatchOutcomes outcomes = handler_(messages, context);
            if (outcomes.size() > count) return all(count, too_many(outcomes.size(), count));
            DeliveryResults results(count);
            for (std::size_t i = 0; i < outcomes.size(); ++i) {
                if (outcomes[i]) results[i] = {cleaned(std::move(*outcomes[i]))};
            }
            return results;
        } catch (...) {
            return all(count, failure_in_hand());
        }
    }

private:
    static Fail too_many(std::size_t outcomes, std::size_t messages) {
        return {.reason = "the batch handler answered " + std::to_string(outcomes) +
                          " outcomes for " + std::to_string(messages) +
                          " messages; answer one per message, in their order"};
    }
    static DeliveryResults all(std::size_t count, const Fail& failure) {
        return DeliveryResults(count, DeliveryResult{failure});
    }

    BatchHandler handler_;
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
                results[i] = {failure_in_hand()};
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

std::unique_ptr<HandlerBody> batch_body(BatchHandler handler) {
    return std::make_unique<BatchBody>(std::move(handler));
}

std::unique_ptr<HandlerBody> inline_body(InlineHandler handler, InlineStore& store,
                                         std::string target) {
    return std::make_unique<InlineBody>(std::move(handler), store, std::move(target));
}

}  // namespace waybill::runtime
