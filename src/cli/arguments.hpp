#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::cli {

/// The command was written wrongly: exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// "--listen HOST:PORT" or, without a value, "--json".
struct OptionSpec {
    std::string_view name{};
    /// Empty: a switch.
    std::string_view value{};
    std::string_view help{};
};

/// What was written behind a command.
class Arguments {
public:
    /// Throws UsageError for an option that is not in `specs`, or a value that is missing. "--name=x"
    /// and "--name x" are the same; "--" ends the options.
    static Arguments parse(const std::vector<std::string>& words,
                           const std::vector<OptionSpec>& specs);

    const std::vector<std::string>& words() const { return words_; }
    /// The n-th word; throws UsageError that names what is missing.
    const std::string& word(std::size_t index, std::string_view what) const;
    bool has(const std::string& name) const { return options_.contains(name); }
    std::string value(const std::string& name, std::string otherwise = {}) const;
    std::uint64_t number(const std::string& name, std::uint64_t otherwise) const;
    /// Throws UsageError when it was not given.
    std::string required(const std::string& name) const;

private:
    std::vector<std::string> words_{};
    std::map<std::string, std::string> options_{};
};

}  // namespace waybill::cli
