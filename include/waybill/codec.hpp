#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "waybill/handler.hpp"
#include "waybill/message.hpp"
#include "waybill/outcome.hpp"

/// Typed payloads. A body is bytes; a codec says how a type of yours becomes bytes and comes back.
/// waybill/json.hpp brings one for every type that is described to it; specialise Codec for one type,
/// or for a whole family of types, to use anything else:
///
///     template <std::derived_from<google::protobuf::MessageLite> T>
///     struct waybill::Codec<T> {
///         static constexpr std::string_view content_type = "application/x-protobuf";
///         static std::string encode(const T& value) { return value.SerializeAsString(); }
///         static T decode(std::string_view bytes) { ... }   // throws what it likes
///     };
namespace waybill {

template <class T>
struct Codec;

/// The body is not what its reader expects. No retry can help, so its delivery is dead at once, with
/// this text as the reason; the dead letter keeps the body.
class DecodeError : public PermanentFailure {
public:
    using PermanentFailure::PermanentFailure;
};

template <class C, class T>
concept CodecFor = requires(const T& value, std::string_view bytes) {
    { C::content_type } -> std::convertible_to<std::string_view>;
    { C::encode(value) } -> std::convertible_to<std::string>;
    { C::decode(bytes) } -> std::convertible_to<T>;
};

/// `message` with the payload as its body, and the codec's content type unless it has one.
///
///     app.append(waybill::encode(order, {.type = "order.placed", .lane = order.customer}));
template <class T, CodecFor<T> C = Codec<T>>
Message encode(const T& payload, Message message) {
    message.body = C::encode(payload);
    if (message.content_type.empty()) message.content_type = C::content_type;
    return message;
}

/// The payload of a message. Throws DecodeError.
template <class T, CodecFor<T> C = Codec<T>>
T decode(const Message& message) {
    try {
        return C::decode(message.body);
    } catch (const std::exception& error) {
        throw DecodeError{"the body of \"" + message.type +
                          "\" cannot be decoded: " + error.what()};
    }
}

/// A message of a batch with its payload.
template <class T>
struct Typed {
    T payload;
    const Message* message = nullptr;
    /// Its place in the whole batch, for BatchContext.
    std::size_t item = 0;
};

/// What a typed batch handler gets; see Box::on_batch.
template <class T>
using TypedBatch = std::span<const Typed<T>>;

namespace detail {

/// Accepts (const T&), (const T&, Context&) and (const T&, const Message&, Context&).
template <class T, class C, class F>
Handler to_typed_handler(F function) {
    return [function = std::move(function)](const Message& message, Context& context) mutable {
        const T payload = decode<T, C>(message);
        if constexpr (std::is_invocable_v<F&, const T&, const Message&, Context&>) {
            return call_for_outcome(function, payload, message, context);
        } else if constexpr (std::is_invocable_v<F&, const T&, Context&>) {
            return call_for_outcome(function, payload, context);
        } else {
            static_assert(std::is_invocable_v<F&, const T&>,
                          "a typed handler takes (const T&), (const T&, Context&) or "
                          "(const T&, const Message&, Context&)");
            return call_for_outcome(function, payload);
        }
    };
}

/// What could be decoded; the others have their outcome already.
template <class T, class C>
std::vector<Typed<T>> decode_batch(Batch batch, BatchOutcomes& outcomes) {
    std::vector<Typed<T>> typed;
    typed.reserve(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
        try {
            typed.push_back({decode<T, C>(*batch[i]), batch[i], i});
        } catch (const DecodeError& error) {
            outcomes[i] = Fail{.reason = error.what(), .permanent = true};
        }
    }
    return typed;
}

template <class T, class C, class F>
BatchHandler to_typed_batch_handler(F function) {
    static_assert(std::is_invocable_v<F&, TypedBatch<T>, BatchContext&>,
                  "a typed batch handler takes (waybill::TypedBatch<T>, BatchContext&)");
    return [function = std::move(function)](Batch batch, BatchContext& context) mutable {
        BatchOutcomes outcomes(batch.size());
        const std::vector<Typed<T>> typed = decode_batch<T, C>(batch, outcomes);
        if (typed.empty()) return outcomes;
        using Result = std::invoke_result_t<F&, TypedBatch<T>, BatchContext&>;
        if constexpr (std::is_void_v<Result>) {
            std::invoke(function, TypedBatch<T>{typed}, context);
            for (const Typed<T>& one : typed) outcomes[one.item] = Done{};
        } else {
            BatchOutcomes answered = std::invoke(function, TypedBatch<T>{typed}, context);
            if (answered.size() > typed.size()) return answered;  // too many: refused as a whole
            for (std::size_t i = 0; i < answered.size(); ++i) {
                outcomes[typed[i].item] = std::move(answered[i]);
            }
        }
        return outcomes;
    };
}

}  // namespace detail
}  // namespace waybill
