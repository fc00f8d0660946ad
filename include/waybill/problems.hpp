#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace waybill {

/// Everything wrong with some options, each worded for the person who must fix it. Empty: fine.
using Problems = std::vector<std::string>;

/// Thrown before anything starts; what() lists all problems, one per line.
class ConfigError : public std::runtime_error {
public:
    explicit ConfigError(Problems problems);
    const Problems& problems() const { return problems_; }

private:
    Problems problems_;
};

}  // namespace waybill
