#include "core/text.hpp"

#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

#include "json/as_written.hpp"
#include "waybill/json/value.hpp"

/// From text to values and back: Boost.JSON, and nobody sees it.
namespace waybill::json {
namespace {

namespace bj = boost::json;

/// Builds values while Boost reads. Numbers with a fraction are ours: its own are off by a bit now
/// and then.
class Builder {
public:
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = max_object_size;
    static constexpr std::size_t max_key_size = max_object_size;
    static constexpr std::size_t max_string_size = max_object_size;

    using Error = bj::error_code;
    using Text = bj::string_view;

    explicit Builder(bool as_written) : as_written_(as_written) {}

    bool on_document_begin(Error&) { return true; }
    bool on_document_end(Error&) { return true; }
    bool on_object_begin(Error&) { return open(Object{}); }
    bool on_object_end(std::size_t, Error&) { return close(); }
    bool on_array_begin(Error&) { return open(Array{}); }
    bool on_array_end(std::size_t, Error&) { return close(); }
    bool on_key_part(Text part, std::size_t, Error&) { return keep(part); }
    bool on_key(Text part, std::size_t, Error&) {
        stack_.back().key = whole(part);
        return true;
    }
    bool on_string_part(Text part, std::size_t, Error&) { return keep(part); }
    bool on_string(Text part, std::size_t, Error&) { return put(whole(part)); }
    bool on_number_part(Text part, Error&) { return keep(part); }
    bool on_int64(std::int64_t value, Text, Error&) { return put_number(value); }
    bool on_uint64(std::uint64_t value, Text, Error&) { return put_number(value); }
    bool on_double(double, Text part, Error& error) {
        const std::string text = whole(part);
        double value = 0;
        const auto end = text.data() + text.size();
        const auto [stopped, problem] = std::from_chars(text.data(), end, value);
        if (problem == std::errc{} && stopped == end) {
            const bool is_digits = text.find_first_of(".eE") == std::string::npos;
            return as_written_ && is_digits ? put(text) : put(value);
        }
        error = bj::error::exponent_overflow;
        return false;
    }
    bool on_bool(bool value, Error&) { return put(value); }
    bool on_null(Error&) { return put(nullptr); }
    bool on_comment_part(Text, Error&) { return true; }
    bool on_comment(Text, Error&) { return true; }

    Value take() { return std::move(document_); }

private:
    /// An array or object that is being read, and the name of the member that comes next.
    struct Level {
        std::variant<Array, Object> items{};
        std::string key{};
    };

    bool keep(Text part) {
        text_.append(part.data(), part.size());
        return true;
    }
    std::string whole(Text last) {
        keep(last);
        return std::exchange(text_, {});
    }
    bool open(std::variant<Array, Object> items) {
        stack_.push_back({std::move(items)});
        return true;
    }
    bool close() {
        Level level = std::move(stack_.back());
        stack_.pop_back();
        return std::visit([&](auto& items) { return put(std::move(items)); }, level.items);
    }
    bool put_number(Value value) {
        text_.clear();
        return put(std::move(value));
    }
    bool put(Value value) {
        if (stack_.empty()) {
            document_ = std::move(value);
        } else if (auto* array = std::get_if<Array>(&stack_.back().items)) {
            array->push_back(std::move(value));
        } else {
            auto& object = std::get<Object>(stack_.back().items);
            object.emplace_back(std::move(stack_.back().key), std::move(value));
        }
        return true;
    }

    const bool as_written_;
    Value document_{};
    std::vector<Level> stack_{};
    std::string text_{};
};

/// U+0000 is a character like any other here.
bool is_utf8(std::string_view text) {
    while (true) {
        const std::size_t nul = text.find('\0');
        if (!is_storable_text(text.substr(0, nul))) return false;
        if (nul == std::string_view::npos) return true;
        text.remove_prefix(nul + 1);
    }
}

bj::string text_of(const std::string& text) {
    if (!is_utf8(text)) {
        throw std::invalid_argument{"a string that becomes JSON must be UTF-8"};
    }
    return bj::string{text};
}

bj::value to_boost(const Value& value, std::size_t depth) {
    if (depth > depth_max) {
        throw std::invalid_argument{"what becomes JSON is nested deeper than " +
                                    std::to_string(depth_max)};
    }
    return value.visit([&](const auto& data) -> bj::value {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::same_as<Data, std::string>) {
            return text_of(data);
        } else if constexpr (std::same_as<Data, Array>) {
            bj::array array;
            array.reserve(data.size());
            for (const Value& item : data) array.push_back(to_boost(item, depth + 1));
            return array;
        } else if constexpr (std::same_as<Data, Object>) {
            bj::object object;
            object.reserve(data.size());
            for (const auto& [name, item] : data) {
                object.insert_or_assign(std::string_view{text_of(name)}, to_boost(item, depth + 1));
            }
            return object;
        } else {
            return data;
        }
    });
}

Value parse_with(std::string_view text, bool as_written) {
    bj::parse_options options;
    options.max_depth = depth_max;
    bj::basic_parser<Builder> parser{options, as_written};
    bj::error_code error;
    const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
    if (!error && read < text.size()) error = bj::error::extra_data;
    if (error) throw ReadError{"is not JSON: " + error.message()};
    return parser.handler().take();
}

}  // namespace

Value parse(std::string_view text) {
    return parse_with(text, false);
}

Value parse_as_written(std::string_view text) {
    return parse_with(text, true);
}

std::string to_text(const Value& value) {
    return bj::serialize(to_boost(value, 1));
}

}  // namespace waybill::json
