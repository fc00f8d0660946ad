#include "waybill/problems.hpp"

#include <utility>

namespace waybill {
namespace {

std::string one_per_line(const Problems& problems) {
    std::string text;
    for (const std::string& problem : problems) {
        if (!text.empty()) text += '\n';
        text += problem;
    }
    return text;
}

}  // namespace

ConfigError::ConfigError(Problems problems)
    : std::runtime_error(one_per_line(problems)), problems_(std::move(problems)) {}

}  // namespace waybill
