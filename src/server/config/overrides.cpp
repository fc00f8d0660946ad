#include "server/config/overrides.hpp"

#include <algorithm>

#include "core/nearest.hpp"
#include "server/targets/command_target.hpp"

namespace waybill::server {
namespace {

constexpr std::string_view kFront = "WAYBILL_";
constexpr std::string_view kBetween = "__";

bool has(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

/// Kubernetes sets them for every service, also for one that is called waybill.
bool is_of_a_service(std::string_view name) {
    const std::size_t port = name.find("_PORT_");
    return name.find("_SERVICE_HOST") != std::string_view::npos ||
           name.find("_SERVICE_PORT") != std::string_view::npos || name.ends_with("_PORT") ||
           (port != std::string_view::npos && name.size() > port + 6 && name[port + 6] >= '0' &&
            name[port + 6] <= '9');
}

std::string without_underscores(std::string_view name) {
    std::string text{name};
    std::erase(text, '_');
    return text;
}

/// The override that was meant though an underscore or the section is missing; empty: none.
std::string meant_by(std::string_view name, const std::vector<std::string>& overrides) {
    const std::string key = std::string{kBetween} + std::string{name.substr(kFront.size())};
    for (const std::string& one : overrides) {
        if (without_underscores(one) == without_underscores(name)) return one;
    }
    for (const std::string& one : overrides) {
        if (one.ends_with(key)) return one;
    }
    return {};
}

/// WAYBILL_ is in all of them, so it makes none of them similar.
std::string nearest_override(std::string_view name, const std::vector<std::string>& overrides) {
    std::vector<std::string> ends;
    for (const std::string& one : overrides) ends.push_back(one.substr(kFront.size()));
    const std::string close = nearest(name.substr(kFront.size()), ends);
    return close.empty() ? close : std::string{kFront} + close;
}

}  // namespace

std::string override_of(std::string_view path) {
    std::string name{kFront};
    for (const char c : path) {
        if (c == '.') {
            name += kBetween;
        } else if (c >= 'a' && c <= 'z') {
            name += static_cast<char>(c - 'a' + 'A');
        } else {
            name += (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
        }
    }
    return name;
}

StrayVariables stray_variables(const Environment& environment, const KnownVariables& known) {
    StrayVariables stray;
    for (auto one = environment.lower_bound(std::string{kFront});
         one != environment.end() && one->first.starts_with(kFront); ++one) {
        const std::string& name = one->first;
        if (has(known.overrides, name) || has(known.secrets, name) || is_message_variable(name) ||
            is_of_a_service(name)) {
            continue;
        }
        if (has(known.lists, name)) {
            stray.problems.push_back(name + ": a list cannot be overridden; write it in the file");
            continue;
        }
        const std::string meant = meant_by(name, known.overrides);
        const std::string close = meant.empty() ? nearest_override(name, known.overrides) : meant;
        const bool is_override = !meant.empty() || name.find(kBetween) != std::string::npos;
        std::string text = name + ": overrides nothing";
        if (!close.empty()) text += "; did you mean " + close + "?";
        if (close.empty() && is_override) text += "; unset it";
        (is_override ? stray.problems : stray.warnings).push_back(std::move(text));
    }
    return stray;
}

}  // namespace waybill::server
