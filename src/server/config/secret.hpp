#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace waybill::server {

/// Reads the environment; null: there is no such variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// This process's own.
Environment process_environment();

/// A secret that was looked up.
struct FoundSecret {
    std::string value{};
    /// Why there is none, and what to do. Empty: found.
    std::string problem{};
    /// It was written into the file itself.
    bool literal = false;
};

/// "env:NAME", "file:PATH", "cmd:PROGRAM ARGS" or a literal. Of files and programs a line end at the
/// very end does not count.
FoundSecret find_secret(const std::string& reference, const Environment& environment);
/// How it may be shown: references as they are, literals never.
std::string masked(const std::string& reference);

}  // namespace waybill::server
