#pragma once

#include <string>
#include <vector>

#include "waybill/source.hpp"

/// What is allowed and yet hardly meant: warnings.
namespace waybill::server {

/// A target's match.source that no source fits; empty: one does.
std::string advice_on_source(const std::string& pattern, const std::vector<Source>& sources);
/// A command whose program cannot be run now; empty: it can. `path` is the variable PATH.
std::string advice_on_program(const std::string& program, const std::string& path);
/// A secret that can be guessed; empty: it is long enough.
std::string advice_on_secret(const std::string& secret);

}  // namespace waybill::server
