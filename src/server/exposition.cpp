#include "server/exposition.hpp"

#include <array>
#include <cstdio>

namespace waybill::server {
namespace {

void append_escaped(std::string& text, std::string_view value) {
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += "# HELP " + name_ + " ";
    text_ += help;
    text_ += "\n# TYPE " + name_ + " ";
    text_ += type;
    text_ += '\n';
}

void Exposition::line(std::string_view value, Labels labels) {
    text_ += name_;
    char before = '{';
    for (const auto& [label, content] : labels) {
        text_ += before;
        text_ += label;
        text_ += "=\"";
        append_escaped(text_, content);
        text_ += '"';
        before = ',';
    }
    if (before == ',') text_ += '}';
    text_ += ' ';
    text_ += value;
    text_ += '\n';
}

void Exposition::sample(std::uint64_t value, Labels labels) {
    line(std::to_string(value), labels);
}

void Exposition::seconds(double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.6f", value);
    line(text.data(), {});
}

}  // namespace waybill::server
