#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "waybill/time.hpp"

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

/// A program that says a secret may take so long: nothing else is heard meanwhile.
inline constexpr Duration secret_command_deadline = std::chrono::seconds{10};

/// "env:NAME", "file:PATH", "cmd:PROGRAM ARGS" or a literal. Of files and programs a line end at the
/// very end does not count.
FoundSecret find_secret(const std::string& reference, const Environment& environment,
                        Duration command_deadline = secret_command_deadline);
/// How it may be shown: references as they are, literals never.
std::string masked(const std::string& reference);

}  // namespace waybill::server
