#include "server/log.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace waybill::server {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warn", "error"};

std::string_view name_of(LogLevel level) {
    return kLevels.at(static_cast<std::size_t>(level));
}

/// Inside quotes, in both formats: nothing a terminal or a line-based reader could trip over.
void append_quoted(std::string& line, std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    line += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            line += '\\';
            line += c;
        } else if (byte < 0x20 || byte == 0x7f) {
            line += "\\u00";
            line += kDigits[byte >> 4];
            line += kDigits[byte & 15U];
        } else {
            line += c;
        }
    }
    line += '"';
}

bool is_plain(std::string_view text) {
    if (text.empty()) return false;
    for (const char c : text) {
        if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c >= 0x7f) return false;
    }
    return true;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view word) {
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
        if (kLevels[i] == word) return static_cast<LogLevel>(i);
    }
    return std::nullopt;
}

std::string time_text(StoreTime time) {
    const auto micros = time.time_since_epoch().count();
    const std::time_t seconds = micros / 1'000'000;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                  parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                  parts.tm_min, parts.tm_sec, static_cast<int>(micros % 1'000'000 / 1'000));
    return text.data();
}

std::string log_line(LogFormat format, StoreTime now, LogLevel level, std::string_view event,
                     std::initializer_list<LogField> fields) {
    std::string line;
    if (format == LogFormat::json) {
        line += R"({"time":")" + time_text(now) + R"(","level":")";
        line += name_of(level);
        line += R"(","event":)";
        append_quoted(line, event);
        for (const auto& [name, value] : fields) {
            if (value.empty()) continue;
            line += ",";
            append_quoted(line, name);
            line += ":";
            append_quoted(line, value);
        }
        return line + "}";
    }
    line += time_text(now);
    line += ' ';
    line += name_of(level);
    line += ' ';
    // Our own words; only values come from others.
    line += event;
    for (const auto& [name, value] : fields) {
        if (value.empty()) continue;
        line += ' ';
        line += name;
        line += '=';
        if (is_plain(value)) {
            line += value;
        } else {
            append_quoted(line, value);
        }
    }
    return line;
}

void Log::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
    if (!wants(level)) return;
    const std::string line = log_line(format_, clock_.wall(), level, event, fields) + "\n";
    const std::lock_guard lock{mutex_};
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace waybill::server
