#include <algorithm>
#include <iostream>
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

int completion(const Arguments& arguments, const Globals&) {
    const std::string& shell = arguments.word(0, "bash or zsh");
    if (shell != "bash" && shell != "zsh") throw UsageError{"completion knows bash and zsh"};
    if (shell == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    std::cout << "_waybill() {\n"
                 "    local words=\"\" command=\"${COMP_WORDS[1]}\"\n"
                 "    local global=\"--config --store --log-level --log-format --help\"\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"";
    for (const Command& command : commands()) std::cout << command.name << " ";
    std::cout << "--help --version\"\n    else\n        case \"$command\" in\n";
    for (const Command& command : commands()) {
        std::cout << "            " << command.name << ") words=\"$global" << words_of(command)
                  << "\" ;;\n";
    }
    std::cout << "        esac\n    fi\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
                 "}\n"
                 "complete -o default -F _waybill waybill\n";
    return 0;
}

}  // namespace

Command completion_command() {
    return {.name = "completion",
            .summary = "Prints what makes your shell complete the words of waybill",
            .usage = "completion bash|zsh",
            .options = {},
            .examples =
                "  source <(waybill completion bash)\n"
                "  waybill completion zsh >> ~/.zshrc\n",
            .run = completion};
}

}  // namespace waybill::cli
