#include "cli/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "server/config/units.hpp"

namespace waybill::cli {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::vector<OptionSpec>& specs) {
    std::vector<std::string> known;
    for (const OptionSpec& spec : specs) known.emplace_back(spec.name);
    const std::string close = server::nearest(name, known);
    throw UsageError{"there is no option --" + name +
                     (close.empty() ? "; see --help" : "; did you mean --" + close + "?")};
}

}  // namespace

Arguments Arguments::parse(const std::vector<std::string>& words,
                           const std::vector<OptionSpec>& specs) {
    Arguments arguments;
    bool options_over = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (options_over || !word.starts_with("--")) {
            arguments.words_.push_back(word);
            continue;
        }
        if (word == "--") {
            options_over = true;
            continue;
        }
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        const auto spec = std::find_if(specs.begin(), specs.end(),
                                       [&](const OptionSpec& one) { return one.name == name; });
        if (spec == specs.end()) refuse(name, specs);
        std::string value;
        if (!spec->value.empty()) {
            if (equals != std::string::npos) {
                value = word.substr(equals + 1);
            } else if (++i < words.size()) {
                value = words[i];
            } else {
                throw UsageError{"--" + name + " needs a value: " + std::string{spec->value}};
            }
        }
        std::string& known = arguments.options_[name];
        const bool may_repeat = spec->value.ends_with("…");
        // Several are kept as lines: one with a line break would be two.
        if (may_repeat && value.find('\n') != std::string::npos) {
            throw UsageError{"--" + name + " has a line break; say it again for another one"};
        }
        known = may_repeat && !known.empty() ? known + "\n" + value : value;
    }
    return arguments;
}

const std::string& Arguments::word(std::size_t index, std::string_view what) const {
    if (index >= words_.size()) throw UsageError{"name " + std::string{what} + "; see --help"};
    return words_[index];
}

std::string Arguments::value(const std::string& name, std::string otherwise) const {
    const auto found = options_.find(name);
    return found == options_.end() ? std::move(otherwise) : found->second;
}

std::uint64_t Arguments::number(const std::string& name, std::uint64_t otherwise) const {
    const auto found = options_.find(name);
    if (found == options_.end()) return otherwise;
    std::uint64_t number = 0;
    const char* const end = found->second.data() + found->second.size();
    const auto [stopped, error] = std::from_chars(found->second.data(), end, number);
    if (error != std::errc{} || stopped != end) {
        throw UsageError{"--" + name + ": \"" + found->second + "\" is not a number"};
    }
    return number;
}

std::string Arguments::required(const std::string& name) const {
    const auto found = options_.find(name);
    if (found == options_.end()) throw UsageError{"--" + name + " is missing; see --help"};
    return found->second;
}

}  // namespace waybill::cli
