#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "waybill/runtime.hpp"

namespace waybill::server {

enum class LogLevel : std::uint8_t { debug, info, warn, error };
enum class LogFormat : std::uint8_t { text, json };

std::optional<LogLevel> parse_log_level(std::string_view word);

/// A name and what it is worth, such as {"status", "202"}.
using LogField = std::pair<std::string_view, std::string_view>;

/// One line per event on standard error. What comes from others is escaped; secrets and bodies never
/// get here.
///
/// Thread safety: any thread.
class Log {
public:
    Log(LogLevel level, LogFormat format, Clock& clock)
        : level_(level), format_(format), clock_(clock) {}

    bool wants(LogLevel level) const { return level >= level_; }
    void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
    /// A sentence for people.
    void say(LogLevel level, std::string_view text) { write(level, text); }

private:
    const LogLevel level_;
    const LogFormat format_;
    Clock& clock_;
    std::mutex mutex_{};  ///< one line at a time
};

/// The line, without its end; fields without a value are left out. Pure.
std::string log_line(LogFormat format, StoreTime now, LogLevel level, std::string_view event,
                     std::initializer_list<LogField> fields);
/// 2026-01-31T12:00:00.123Z
std::string time_text(StoreTime time);

}  // namespace waybill::server
