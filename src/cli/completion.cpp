#include <algorithm>
#include <iostream>
#include <set>
#include <string>

#include "cli/command.hpp"

namespace waybill::cli {
namespace {

std::string words_of(const Command& command) {
    std::string words;
    for (const OptionSpec& option : command.options) words += " --" + std::string{option.name};
    // "messages list|show ID|cancel ID [FILTERS]": what comes first is a verb.
    const std::string usage{command.usage};
    const std::size_t from = usage.find(' ');
    const std::size_t bar = usage.find('|');
    if (from == std::string::npos || bar == std::string::npos || usage[from + 1] == '[')
        return words;
    const std::string verbs = usage.substr(from + 1);
    for (std::size_t at = 0; at <= verbs.size();) {
        const std::size_t end = std::min(verbs.find('|', at), verbs.size());
        const std::string verb = verbs.substr(at, std::min(verbs.find(' ', at), end) - at);
        if (!verb.empty() && verb[0] >= 'a' && verb[0] <= 'z') words += " " + verb;
        at = end + 1;
    }
    return words;
}

/// "--config|--store": behind these comes a value.
std::string options_with_value() {
    std::set<std::string> names;
    for (const Command& command : commands()) {
        for (const OptionSpec& option : command.options) {
            if (!option.value.empty()) names.insert("--" + std::string{option.name});
        }
    }
    for (const char* name : {"--config", "--store"}) names.insert(name);
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : "|") + name;
    return list;
}

int completion(const Arguments& arguments, const Globals&) {
    const std::string& shell = arguments.word(0, "bash or zsh");
    if (shell != "bash" && shell != "zsh") throw UsageError{"completion knows bash and zsh"};
    if (shell == "zsh") {
        // A zsh that nobody has set up completes nothing at all.
        std::cout << "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"
                     "autoload -U +X bashcompinit && bashcompinit\n";
    }
    std::cout << R"(_waybill() {
    local words="" command="" at=1
    local global="--config --store --log-level --log-format --help"
    while [ "$at" -lt "$COMP_CWORD" ] && [ -z "$command" ]; do
        case "${COMP_WORDS[at]}" in
            --config|--store|--log-level|--log-format) at=$((at + 1)) ;;
            --*) ;;
            *) command="${COMP_WORDS[at]}" ;;
        esac
        at=$((at + 1))
    done
    case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --log-level) words="debug info warn error" ;;
        --log-format) words="text json" ;;
        )" << options_with_value()
              << R"() words="" ;;
        *) case "$command" in
)";
    std::cout << "            \"\") words=\"";
    for (const Command& command : commands()) std::cout << command.name << " ";
    std::cout << "$global --version\" ;;\n";
    for (const Command& command : commands()) {
        std::cout << "            " << command.name << ") words=\"$global" << words_of(command)
                  << "\" ;;\n";
    }
    std::cout << R"(        esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _waybill waybill
)";
    return 0;
}

}  // namespace

Command completion_command() {
    return {.name = "completion",
            .summary = "Prints what makes your shell complete the words of waybill",
            .usage = "completion bash|zsh",
            .words_max = 1,
            .options = {},
            .examples =
                "  source <(waybill completion bash)\n"
                "  source <(waybill completion zsh)     in ~/.bashrc or ~/.zshrc: for good\n",
            .run = completion};
}

}  // namespace waybill::cli
