#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "waybill/codec.hpp"

namespace waybill::json {

class Value;

/// In order.
using Array = std::vector<Value>;
/// In the order in which it was written.
using Object = std::vector<std::pair<std::string, Value>>;

/// The document is not what its reader expects: "items[2].cents: expected a whole number, found a
/// string".
class ReadError : public DecodeError {
public:
    explicit ReadError(std::string problem, std::string path = {});
    const std::string& problem() const { return problem_; }
    /// Where in the document; empty: the whole of it.
    const std::string& path() const { return path_; }
    /// The same problem, seen from around it. `step` is a name, or an index in brackets.
    ReadError inside(const std::string& step) const;

private:
    std::string problem_;
    std::string path_;
};

/// A JSON document or a part of one.
///
/// Errors: what does not fit throws ReadError.
class Value {
public:
    Value() = default;
    Value(std::nullptr_t) {}
    template <std::same_as<bool> Bool>
    Value(Bool value) : data_(value) {}
    template <std::signed_integral Integer>
    Value(Integer value) : data_(std::int64_t{value}) {}
    template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>) Value(Integer value) : data_(std::uint64_t{value}) {}
    /// Throws std::invalid_argument for what JSON has no word for: infinity and not-a-number.
    Value(double value);
    Value(std::string value) : data_(std::move(value)) {}
    Value(std::string_view value) : data_(std::string{value}) {}
    Value(const char* value) : data_(std::string{value}) {}
    Value(Array value) : data_(std::move(value)) {}
    Value(Object value) : data_(std::move(value)) {}

    bool is_null() const { return std::holds_alternative<std::nullptr_t>(data_); }
    bool as_bool() const;
    /// A whole number, also one written as 3.0.
    std::int64_t as_int64() const;
    std::uint64_t as_uint64() const;
    double as_double() const;
    const std::string& as_string() const;
    const Array& as_array() const;
    const Object& as_object() const;

    /// A member of an object. Null: there is none of that name.
    const Value* find(std::string_view name) const;

    /// With std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array or Object.
    template <class Visitor>
    decltype(auto) visit(Visitor&& visitor) const {
        return std::visit(std::forward<Visitor>(visitor), data_);
    }

    bool operator==(const Value&) const = default;

private:
    [[noreturn]] void refuse(const char* expected) const;

    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
                 Object>
        data_{};
};

/// Nested no deeper than this.
inline constexpr std::size_t depth_max = 64;

/// RFC 8259, UTF-8, one document and nothing after it. Throws ReadError.
Value parse(std::string_view text);
/// On one line. Throws std::invalid_argument for a string that is not UTF-8.
std::string to_text(const Value& value);

}  // namespace waybill::json
