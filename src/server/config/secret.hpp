#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "waybill/time.hpp"

namespace waybill::server {

/// Variables by name.
using Environment = std::map<std::string, std::string>;
/// This process's own.
Environment process_environment();
/// Null: there is no such variable.
const std::string* variable(const Environment& environment, const std::string& name);

/// Whether secrets are looked up. Whoever only looks at a store needs none of them, and has them
/// perhaps not at hand.
enum class Secrets : std::uint8_t { needed, unneeded };

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
/// It says where the secret is.
bool is_reference(const std::string& text);
/// How it may be shown: references as they are, literals never.
std::string masked(const std::string& reference);
/// A URL as it may be shown: without the password in it, wherever people put one.
std::string masked_url(std::string_view url);

}  // namespace waybill::server
