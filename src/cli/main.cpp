#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/command.hpp"
#include "core/version.hpp"
#include "server/config/units.hpp"
#include "waybill/problems.hpp"
#include "waybill/store.hpp"

namespace waybill::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

std::vector<OptionSpec> global_options() {
    return {{"config", "FILE", "configuration; ./waybill.toml if it is there"},
            {"store", "URL",
             "\"sqlite:PATH\", \"postgresql://…\" or \"memory:\"; overrides the configuration"},
            {"log-level", "LEVEL", "debug, info, warn or error"},
            {"log-format", "FORMAT", "text or json"},
            {"help", "", "this text"},
            {"version", "", "the version"}};
}

void print_options(const std::vector<OptionSpec>& options) {
    for (const OptionSpec& option : options) {
        std::string left = "  --" + std::string{option.name};
        if (!option.value.empty()) left += " " + std::string{option.value};
        left.resize(std::max<std::size_t>(left.size() + 2, 26), ' ');
        std::cout << left << option.help << "\n";
    }
}

void print_help() {
    std::cout << "Usage: waybill COMMAND [OPTIONS]\n\n"
                 "Takes webhooks in, verified, stored once and handed to their targets.\n\n";
    for (const Command& command : commands()) {
        std::string left = "  " + std::string{command.name};
        left.resize(17, ' ');
        std::cout << left << command.summary << "\n";
    }
    std::cout << "\nWith every command:\n";
    print_options(global_options());
    std::cout << "\nExit codes: 0 done, 1 it failed, 2 it was asked or configured wrongly.\n"
                 "`waybill COMMAND --help` has examples.\n";
}

void print_help(const Command& command) {
    std::cout << "Usage: waybill " << command.usage << "\n\n" << command.summary << ".\n\n";
    print_options(command.options);
    if (!command.examples.empty()) std::cout << "\nExamples:\n" << command.examples;
}

Globals globals_of(const Arguments& arguments, const char* program) {
    Globals globals{.config_file = arguments.value("config"),
                    .store = arguments.value("store"),
                    .program = program};
    const auto level = server::parse_log_level(arguments.value("log-level", "info"));
    if (!level) throw UsageError{"--log-level is one of debug, info, warn, error"};
    globals.log_level = *level;
    const std::string format = arguments.value("log-format", "text");
    if (format != "text" && format != "json") throw UsageError{"--log-format is text or json"};
    globals.log_format = format == "json" ? server::LogFormat::json : server::LogFormat::text;
    return globals;
}

/// Words the contract has and this version does not.
constexpr std::array kLaterCommands{"copy", "bench"};

const Command& find_command(const std::string& name) {
    if (std::ranges::find(kLaterCommands, name) != kLaterCommands.end()) {
        throw UsageError{"waybill " + name + " comes with a later version; see waybill --help"};
    }
    std::vector<std::string> names;
    for (const Command& command : commands()) {
        if (command.name == name) return command;
        names.emplace_back(command.name);
    }
    const std::string close = server::nearest(name, names);
    throw UsageError{"there is no command \"" + name + "\"" +
                     (close.empty() ? "; see waybill --help" : "; did you mean " + close + "?")};
}

int run(const std::vector<std::string>& words, const char* program) {
    // The command is the first word that is neither an option nor the value of one.
    std::size_t at = 0;
    while (at < words.size() && words[at].starts_with("--")) {
        const bool takes_value = words[at] == "--config" || words[at] == "--store" ||
                                 words[at] == "--log-level" || words[at] == "--log-format";
        at += takes_value ? 2 : 1;
    }
    if (at >= words.size()) {
        const Arguments arguments = Arguments::parse(words, global_options());
        if (arguments.has("version")) {
            std::cout << "waybill " << version_text << "\n";
            return 0;
        }
        print_help();
        return arguments.has("help") ? 0 : kUsage;
    }
    const Command& command = find_command(words[at]);
    std::vector<std::string> rest{words};
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
    std::vector<OptionSpec> options = command.options;
    for (const OptionSpec& option : global_options()) options.push_back(option);
    const Arguments arguments = Arguments::parse(rest, options);
    if (arguments.has("help")) {
        print_help(command);
        return 0;
    }
    if (arguments.words().size() > command.words_max) {
        throw UsageError{"\"" + arguments.words()[command.words_max] +
                         "\" is a word too many, so nothing was done: waybill " +
                         std::string{command.usage}};
    }
    return command.run(arguments, globals_of(arguments, program));
}

}  // namespace

const std::vector<Command>& commands() {
    static const std::vector<Command> all{
        serve_command(),  check_command(),         migrate_command(),   send_command(),
        verify_command(), publish_command(),       run_once_command(),  messages_command(),
        dead_command(),   subscriptions_command(), targets_command(),   lanes_command(),
        boxes_command(),  instances_command(),     backup_command(),    stats_command(),
        doctor_command(), operations_command(),    providers_command(), completion_command()};
    return all;
}

std::string read_input(const std::string& path) {
    if (path == "-") return {std::istreambuf_iterator<char>{std::cin}, {}};
    std::ifstream file{path, std::ios::binary};
    if (!file || std::filesystem::is_directory(path)) {
        throw std::runtime_error("cannot read " + path +
                                 (file ? ": it is a folder"
                                       : ": there is no such file, or it may "
                                         "not be read"));
    }
    try {
        return {std::istreambuf_iterator<char>{file}, {}};
    } catch (const std::ios_base::failure&) {
        throw std::runtime_error("cannot read " + path);
    }
}

}  // namespace waybill::cli

int main(int count, char** arguments) {
    using namespace waybill;
    const std::vector<std::string> words{arguments + 1, arguments + count};
    try {
        return cli::run(words, arguments[0]);
    } catch (const cli::UsageError& error) {
        std::cerr << "waybill: " << error.what() << "\n";
        return cli::kUsage;
    } catch (const ConfigError& error) {
        for (const std::string& problem : error.problems()) std::cerr << problem << "\n";
        return cli::kUsage;
    } catch (const std::exception& error) {
        std::cerr << "waybill: " << error.what() << "\n";
        return cli::kFailed;
    }
}
