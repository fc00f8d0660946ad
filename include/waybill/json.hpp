#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "waybill/codec.hpp"
#include "waybill/json/convert.hpp"
#include "waybill/json/value.hpp"

/// The default codec: JSON for every type that is described. Link waybill::json.
///
///     struct OrderPlaced {
///         std::string customer{};
///         std::int64_t cents = 0;
///         std::optional<std::string> note{};
///     };
///     WAYBILL_JSON(OrderPlaced, customer, cents, note)
///
///     box.on<OrderPlaced>("order.placed", "billing", [](const OrderPlaced& order) { … });
///     app.append(waybill::encode(OrderPlaced{"ada", 4'200}, {.type = "order.placed"}));

/// Describes a struct: say it once, after the struct and in its namespace, with up to 64 of its data
/// members. Their names are those of the JSON members.
#define WAYBILL_JSON(Type, ...)                                               \
    [[maybe_unused]] inline constexpr auto waybill_json_fields(const Type*) { \
        return std::make_tuple(WAYBILL_JSON_LIST(Type, __VA_ARGS__));         \
    }

// One field after the other: each needs one more scan, and EXPAND makes more than 64.
#define WAYBILL_JSON_PAREN ()
#define WAYBILL_JSON_FIELD(Type, name) ::waybill::json::field(#name, &Type::name)
#define WAYBILL_JSON_LIST(Type, ...) WAYBILL_JSON_EXPAND(WAYBILL_JSON_NEXT(Type, __VA_ARGS__))
#define WAYBILL_JSON_NEXT(Type, name, ...) \
    WAYBILL_JSON_FIELD(Type, name)         \
    __VA_OPT__(, WAYBILL_JSON_AGAIN WAYBILL_JSON_PAREN(Type, __VA_ARGS__))
#define WAYBILL_JSON_AGAIN() WAYBILL_JSON_NEXT
#define WAYBILL_JSON_EXPAND(...) \
    WAYBILL_JSON_4(WAYBILL_JSON_4(WAYBILL_JSON_4(WAYBILL_JSON_4(__VA_ARGS__))))
#define WAYBILL_JSON_4(...) \
    WAYBILL_JSON_16(WAYBILL_JSON_16(WAYBILL_JSON_16(WAYBILL_JSON_16(__VA_ARGS__))))
#define WAYBILL_JSON_16(...) \
    WAYBILL_JSON_64(WAYBILL_JSON_64(WAYBILL_JSON_64(WAYBILL_JSON_64(__VA_ARGS__))))
#define WAYBILL_JSON_64(...) __VA_ARGS__

namespace waybill {

namespace json {

/// For a type of which Codec was told something else, and for one message that is JSON all the same.
template <class T>
struct JsonCodec {
    static constexpr std::string_view content_type = "application/json";
    static std::string encode(const T& value) { return to_text(write(value)); }
    static T decode(std::string_view bytes) { return read<T>(parse(bytes)); }
};

template <class T>
concept HasJson = std::same_as<T, Value> || Described<T> || SelfMade<T>;

}  // namespace json

template <json::HasJson T>
struct Codec<T> : json::JsonCodec<T> {};

}  // namespace waybill
