#include "server/config/advice.hpp"

#include <algorithm>
#include <sstream>

#include <unistd.h>

#include "server/config/section.hpp"
#include "server/config/units.hpp"
#include "waybill/target.hpp"

namespace waybill::server {
namespace {

constexpr std::size_t kSecretBytesMin = 16;

std::string advice_on_file(const std::string& file) {
    if (::access(file.c_str(), F_OK) != 0) return in_quotes(file) + " is not there";
    if (::access(file.c_str(), X_OK) != 0) {
        return in_quotes(file) + " is not executable; chmod +x, or name its interpreter";
    }
    return {};
}

}  // namespace

std::string advice_on_source(const std::string& pattern, const std::vector<Source>& sources) {
    const bool fits = std::ranges::any_of(
        sources, [&](const Source& source) { return matches(pattern, source.name); });
    if (fits || pattern == "*") return {};
    std::vector<std::string> names;
    for (const Source& source : sources) names.push_back(source.name);
    const std::string close = nearest(pattern, names);
    return "there is no source " + in_quotes(pattern) + ", so nothing that comes in will match" +
           (close.empty() ? "" : "; did you mean " + in_quotes(close) + "?");
}

std::string advice_on_program(const std::string& program, const std::string& path) {
    if (program.find('/') != std::string::npos) return advice_on_file(program);
    std::istringstream folders{path};
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (advice_on_file((folder.empty() ? "." : folder) + "/" + program).empty()) return {};
    }
    return in_quotes(program) + " is in no folder of PATH";
}

std::string advice_on_secret(const std::string& secret) {
    if (secret.size() >= kSecretBytesMin) return {};
    return "a secret of " + std::to_string(secret.size()) + " bytes can be guessed; use 16 or more";
}

}  // namespace waybill::server
