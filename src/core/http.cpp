#include "waybill/http.hpp"

#include <algorithm>
#include <utility>

namespace waybill {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char small = lower(c);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// application/x-www-form-urlencoded. False: a percent sign without two hex digits.
bool decode(std::string_view text, std::string& decoded) {
    decoded.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i] == '+' ? ' ' : text[i];
            continue;
        }
        if (i + 2 >= text.size()) return false;
        const int high = hex_digit(text[i + 1]);
        const int low = hex_digit(text[i + 2]);
        if (high < 0 || low < 0) return false;
        decoded += static_cast<char>(high << 4 | low);
        i += 2;
    }
    return true;
}

}  // namespace

bool same_name(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, {}, lower, lower);
}

void HttpHeaders::add(std::string name, std::string value) {
    all_.push_back({std::move(name), std::move(value)});
}

void HttpHeaders::set(std::string name, std::string value) {
    std::erase_if(all_, [&](const HttpHeader& header) { return same_name(header.name, name); });
    add(std::move(name), std::move(value));
}

const std::string* HttpHeaders::find(std::string_view name) const {
    for (const HttpHeader& header : all_) {
        if (same_name(header.name, name)) return &header.value;
    }
    return nullptr;
}

std::size_t HttpHeaders::count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        all_, [&](const HttpHeader& header) { return same_name(header.name, name); }));
}

std::string_view HttpRequest::path() const {
    return std::string_view{target}.substr(0, target.find('?'));
}

std::string_view HttpRequest::query() const {
    const std::size_t mark = target.find('?');
    return mark == std::string::npos ? std::string_view{}
                                     : std::string_view{target}.substr(mark + 1);
}

std::optional<FormFields> form_fields(std::string_view form) {
    FormFields fields;
    while (!form.empty()) {
        const std::string_view field = form.substr(0, form.find('&'));
        form.remove_prefix(std::min(form.size(), field.size() + 1));
        if (field.empty()) continue;
        const std::size_t equals = std::min(field.find('='), field.size());
        auto& [name, value] = fields.emplace_back();
        const std::string_view after = field.substr(std::min(field.size(), equals + 1));
        if (!decode(field.substr(0, equals), name) || !decode(after, value)) return std::nullopt;
    }
    return fields;
}

std::optional<std::string> form_field(std::string_view form, std::string_view name) {
    const std::optional<FormFields> fields = form_fields(form);
    if (!fields) return std::nullopt;
    for (const auto& [field, value] : *fields) {
        if (field == name) return value;
    }
    return std::nullopt;
}

}  // namespace waybill
