#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "waybill/json/value.hpp"

/// How C++ types become JSON and come back: numbers, strings, optional, vector, map by string, and
/// every struct described with WAYBILL_JSON. For any other type write, in its namespace,
///
///     waybill::json::Value to_json(const T& value);
///     void from_json(const waybill::json::Value& json, T& value);
///
/// What is missing is an error, unless its type is optional: a charge of nothing because a field was
/// renamed is worse than a dead letter. What is not described is ignored.
namespace waybill::json {

/// A data member and its name in JSON.
template <class T, class Member>
struct Field {
    const char* name;
    Member T::*member;
};

/// For WAYBILL_JSON.
template <class T, class Member>
constexpr Field<T, Member> field(const char* name, Member T::*member) {
    return {name, member};
}

/// WAYBILL_JSON was said of it.
template <class T>
concept Described = requires {
    waybill_json_fields(static_cast<const T*>(nullptr));
};

/// It has functions of its own.
template <class T>
concept SelfMade = requires(const T& value, const Value& json, T& target) {
    { to_json(value) } -> std::convertible_to<Value>;
    from_json(json, target);
};

/// Throws std::invalid_argument for what JSON has no word for.
template <class T>
Value write(const T& value);
/// Throws ReadError.
template <class T>
T read(const Value& json);

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T, class... More>
inline constexpr bool is_map<std::map<std::string, T, More...>> = true;
template <class>
inline constexpr bool never = false;

template <class T>
T read_inside(const std::string& step, const Value& json) {
    try {
        return read<T>(json);
    } catch (const ReadError& error) {
        throw error.inside(step);
    }
}

template <std::integral T>
T read_integer(const Value& json) {
    const auto value = [&] {
        if constexpr (std::signed_integral<T>) {
            return json.as_int64();
        } else {
            return json.as_uint64();
        }
    }();
    if (std::in_range<T>(value)) return static_cast<T>(value);
    throw ReadError{std::to_string(value) + " is out of range; it must be " +
                    std::to_string(std::numeric_limits<T>::min()) + " … " +
                    std::to_string(std::numeric_limits<T>::max())};
}

template <class Vector>
Vector read_array(const Value& json) {
    Vector values;
    std::size_t index = 0;
    for (const Value& item : json.as_array()) {
        const std::string step = "[" + std::to_string(index++) + "]";
        values.push_back(read_inside<typename Vector::value_type>(step, item));
    }
    return values;
}

template <class Map>
Map read_map(const Value& json) {
    Map values;
    for (const auto& [name, item] : json.as_object()) {
        values.insert_or_assign(name, read_inside<typename Map::mapped_type>(name, item));
    }
    return values;
}

template <class T, class Member>
void read_field(const Value& json, T& target, const Field<T, Member>& field) {
    const Value* found = json.find(field.name);
    if (found != nullptr) {
        target.*field.member = read_inside<Member>(field.name, *found);
    } else if constexpr (!is_optional<Member>) {
        throw ReadError{"is missing", field.name};
    }
}

template <Described T>
T read_object(const Value& json) {
    json.as_object();
    T target{};
    std::apply([&](const auto&... fields) { (read_field(json, target, fields), ...); },
               waybill_json_fields(static_cast<const T*>(nullptr)));
    return target;
}

template <Described T>
Value write_object(const T& value) {
    Object object;
    const auto add = [&](const auto& field) {
        Value json = write(value.*field.member);
        if (!json.is_null()) object.emplace_back(field.name, std::move(json));
    };
    std::apply([&](const auto&... fields) { (add(fields), ...); },
               waybill_json_fields(static_cast<const T*>(nullptr)));
    return object;
}

}  // namespace detail

template <class T>
Value write(const T& value) {
    if constexpr (SelfMade<T>) {
        return to_json(value);
    } else if constexpr (Described<T>) {
        return detail::write_object(value);
    } else if constexpr (detail::is_optional<T>) {
        return value ? write(*value) : Value{};
    } else if constexpr (detail::is_vector<T>) {
        Array array;
        for (const auto& item : value) array.push_back(write<typename T::value_type>(item));
        return array;
    } else if constexpr (detail::is_map<T>) {
        Object object;
        for (const auto& [name, item] : value) object.emplace_back(name, write(item));
        return object;
    } else {
        static_assert(!std::is_enum_v<T> && std::convertible_to<T, Value>,
                      "describe this type with WAYBILL_JSON, or give it to_json and from_json");
        return Value(value);
    }
}

template <class T>
T read(const Value& json) {
    if constexpr (std::same_as<T, Value>) {
        return json;
    } else if constexpr (SelfMade<T>) {
        T target{};
        from_json(json, target);
        return target;
    } else if constexpr (Described<T>) {
        return detail::read_object<T>(json);
    } else if constexpr (detail::is_optional<T>) {
        if (json.is_null()) return std::nullopt;
        return read<typename T::value_type>(json);
    } else if constexpr (detail::is_vector<T>) {
        return detail::read_array<T>(json);
    } else if constexpr (detail::is_map<T>) {
        return detail::read_map<T>(json);
    } else if constexpr (std::same_as<T, bool>) {
        return json.as_bool();
    } else if constexpr (std::integral<T>) {
        return detail::read_integer<T>(json);
    } else if constexpr (std::floating_point<T>) {
        return static_cast<T>(json.as_double());
    } else if constexpr (std::same_as<T, std::string>) {
        return json.as_string();
    } else {
        static_assert(detail::never<T>,
                      "describe this type with WAYBILL_JSON, or give it to_json and from_json");
    }
}

}  // namespace waybill::json
