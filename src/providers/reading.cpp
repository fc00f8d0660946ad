#include "providers/reading.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <vector>

#include "json/as_written.hpp"

namespace waybill::providers {
namespace {

constexpr std::string_view kHeader = "header:";
constexpr std::string_view kQuery = "query:";
constexpr std::string_view kForm = "form:";
constexpr std::string_view kJson = "json:";

/// Texts and whole numbers name things, also such that no integer holds; a number with a point or an
/// exponent, a truth or a structure does not.
std::optional<std::string> name_in(const json::Value& value) {
    return value.visit([](const auto& data) -> std::optional<std::string> {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::same_as<Data, std::string>) {
            return data;
        } else if constexpr (std::integral<Data> && !std::same_as<Data, bool>) {
            return std::to_string(data);
        } else {
            return std::nullopt;
        }
    });
}

std::string unescaped(std::string_view token) {
    std::string name;
    for (std::size_t i = 0; i < token.size(); ++i) {
        const bool escape = token[i] == '~' && i + 1 < token.size();
        if (escape && (token[i + 1] == '0' || token[i + 1] == '1')) {
            name += token[++i] == '0' ? '~' : '/';
        } else {
            name += token[i];
        }
    }
    return name;
}

}  // namespace

std::string_view cut(std::string_view& rest, char mark) {
    const std::size_t at = std::min(rest.find(mark), rest.size());
    const std::string_view first = rest.substr(0, at);
    rest.remove_prefix(std::min(rest.size(), at + 1));
    return first;
}

std::vector<std::string> path_names(std::string_view path) {
    const bool is_pointer = path.starts_with('/');
    if (is_pointer) path.remove_prefix(1);
    std::vector<std::string> names;
    for (bool more = true; more;) {
        more = path.find(is_pointer ? '/' : '.') != std::string_view::npos;
        const std::string_view name = cut(path, is_pointer ? '/' : '.');
        names.push_back(is_pointer ? unescaped(name) : std::string{name});
    }
    return names;
}

bool is_place(std::string_view place) {
    for (const std::string_view kind : {kHeader, kQuery, kForm, kJson}) {
        if (place.starts_with(kind)) return place.size() > kind.size();
    }
    return false;
}

std::string_view header_name(std::string_view place) {
    if (place.starts_with(kHeader)) return place.substr(kHeader.size());
    return place.find(':') == std::string_view::npos && !place.starts_with('=')
               ? place
               : std::string_view{};
}

std::optional<std::string> Reading::find(std::string_view places) {
    while (!places.empty()) {
        if (auto found = find_all(cut(places, '|'))) return found;
    }
    return std::nullopt;
}

std::optional<std::string> Reading::find_all(std::string_view places) {
    std::string all;
    while (!places.empty()) {
        const std::optional<std::string> found = find_one(cut(places, '+'));
        if (!found || found->empty()) return std::nullopt;
        all += (all.empty() ? "" : ".") + *found;
    }
    return all.empty() ? std::nullopt : std::optional{all};
}

std::optional<std::string> Reading::find_one(std::string_view place) {
    if (place.starts_with('=')) return std::string{place.substr(1)};
    if (const std::string_view name = header_name(place); !name.empty()) {
        const std::string* value = request_.headers.find(name);
        return value != nullptr ? std::optional{*value} : std::nullopt;
    }
    if (place.starts_with(kQuery)) return form_field(request_.query(), place.substr(kQuery.size()));
    if (place.starts_with(kForm)) return form_field(content_, place.substr(kForm.size()));
    if (place.starts_with(kJson)) return in_body(place.substr(kJson.size()));
    return std::nullopt;
}

const json::Value* Reading::body() {
    if (!parsed_) {
        parsed_ = true;
        try {
            body_ = json::parse_as_written(content_);
        } catch (const json::ReadError& error) {
            problem_ = error.problem();
        }
    }
    return body_ ? &*body_ : nullptr;
}

std::optional<std::string> Reading::in_body(std::string_view path) {
    const json::Value* at = body();
    for (const std::string& name : path_names(path)) {
        if (at == nullptr) return std::nullopt;
        at = step(*at, name);
    }
    return at != nullptr ? name_in(*at) : std::nullopt;
}

const json::Value* Reading::step(const json::Value& from, const std::string& name) {
    return from.visit([&](const auto& data) -> const json::Value* {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::same_as<Data, json::Array>) {
            std::size_t index = 0;
            const char* const end = name.data() + name.size();
            const auto [stopped, error] = std::from_chars(name.data(), end, index);
            const bool is_index = error == std::errc{} && stopped == end;
            return is_index && index < data.size() ? &data[index] : nullptr;
        } else if constexpr (std::same_as<Data, json::Object>) {
            const json::Value* found = nullptr;
            for (const auto& [member, value] : data) {
                if (member != name) continue;
                if (found != nullptr) {
                    ambiguous_ = true;
                    problem_ = "has \"" + name + "\" twice";
                }
                found = &value;
            }
            return found;
        } else {
            return nullptr;
        }
    });
}

}  // namespace waybill::providers
