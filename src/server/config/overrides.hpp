#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/config/secret.hpp"
#include "waybill/problems.hpp"

/// Keys of the configuration as variables of the environment.
namespace waybill::server {

/// "server.listen" -> "WAYBILL_SERVER__LISTEN"
std::string override_of(std::string_view path);

/// What reading a configuration has learnt about variables.
struct KnownVariables {
    /// That override something.
    std::vector<std::string> overrides{};
    /// Of lists, which nothing overrides.
    std::vector<std::string> lists{};
    /// That a secret was read from.
    std::vector<std::string> secrets{};
};

/// Variables that somebody may think to be in force. One that has the form of an override is a
/// problem, as an unknown key is; any other WAYBILL_… may be somebody else's, and is a warning.
struct StrayVariables {
    Problems problems{};
    Problems warnings{};
};
StrayVariables stray_variables(const Environment& environment, const KnownVariables& known);

}  // namespace waybill::server
