#include "waybill/json/value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace waybill::json {
namespace {

/// By index of the alternative.
constexpr std::array kKinds{"null",     "a boolean", "a whole number", "a whole number",
                            "a number", "a string",  "an array",       "an object"};

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

std::string with_path(const std::string& path, const std::string& problem) {
    return path.empty() ? problem : path + ": " + problem;
}

bool is_whole(double value) {
    return std::nearbyint(value) == value;
}

}  // namespace

ReadError::ReadError(std::string problem, std::string path)
    : DecodeError(with_path(path, problem)), problem_(std::move(problem)), path_(std::move(path)) {}

ReadError ReadError::inside(const std::string& step) const {
    const bool joins = path_.empty() || path_.front() == '[';
    return ReadError{problem_, step + (joins ? "" : ".") + path_};
}

Value::Value(double value) : data_(value) {
    if (!std::isfinite(value)) {
        throw std::invalid_argument{"JSON has no word for infinity or for what is not a number"};
    }
}

void Value::refuse(const char* expected) const {
    throw ReadError{std::string{"expected "} + expected + ", found " + kKinds.at(data_.index())};
}

bool Value::as_bool() const {
    if (const auto* value = std::get_if<bool>(&data_)) return *value;
    refuse("a boolean");
}

std::int64_t Value::as_int64() const {
    if (const auto* value = std::get_if<std::int64_t>(&data_)) return *value;
    if (const auto* value = std::get_if<std::uint64_t>(&data_)) {
        if (std::in_range<std::int64_t>(*value)) return static_cast<std::int64_t>(*value);
    }
    if (const auto* value = std::get_if<double>(&data_)) {
        if (is_whole(*value) && *value >= -kTwoTo63 && *value < kTwoTo63) {
            return static_cast<std::int64_t>(*value);
        }
    }
    refuse("a whole number");
}

std::uint64_t Value::as_uint64() const {
    if (const auto* value = std::get_if<std::uint64_t>(&data_)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&data_)) {
        if (*value >= 0) return static_cast<std::uint64_t>(*value);
    }
    if (const auto* value = std::get_if<double>(&data_)) {
        if (is_whole(*value) && *value >= 0 && *value < kTwoTo64) {
            return static_cast<std::uint64_t>(*value);
        }
    }
    refuse("a whole number that is not negative");
}

double Value::as_double() const {
    if (const auto* value = std::get_if<double>(&data_)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*value);
    if (const auto* value = std::get_if<std::uint64_t>(&data_)) return static_cast<double>(*value);
    refuse("a number");
}

const std::string& Value::as_string() const {
    if (const auto* value = std::get_if<std::string>(&data_)) return *value;
    refuse("a string");
}

const Array& Value::as_array() const {
    if (const auto* value = std::get_if<Array>(&data_)) return *value;
    refuse("an array");
}

const Object& Value::as_object() const {
    if (const auto* value = std::get_if<Object>(&data_)) return *value;
    refuse("an object");
}

const Value* Value::find(std::string_view name) const {
    const Object& members = as_object();
    const auto found = std::ranges::find(members, name, &Object::value_type::first);
    return found == members.end() ? nullptr : &found->second;
}

}  // namespace waybill::json
