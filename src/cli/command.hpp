#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "server/config/config.hpp"
#include "server/log.hpp"

namespace waybill::cli {

/// What may be said before or after any command.
struct Globals {
    /// Empty: ./waybill.toml if it is there.
    std::string config_file{};
    /// Overrides the file's.
    std::string store{};
    server::LogLevel log_level = server::LogLevel::info;
    server::LogFormat log_format = server::LogFormat::text;
    /// How the program was called, for lines to try.
    std::string program = "waybill";
};

/// One word after `waybill`.
struct Command {
    std::string_view name{};
    std::string_view summary{};
    /// What follows `waybill `.
    std::string_view usage{};
    /// How many words it takes besides options: a second box to pause must not be passed over in silence.
    std::size_t words_max = 0;
    std::vector<OptionSpec> options{};
    /// Lines to copy.
    std::string_view examples{};
    /// Returns the exit code.
    int (*run)(const Arguments& arguments, const Globals& globals) = nullptr;
};

/// All of them, in the order of the help.
const std::vector<Command>& commands();

Command serve_command();
Command check_command();
Command migrate_command();
Command send_command();
Command verify_command();
Command publish_command();
Command run_once_command();
Command messages_command();
Command dead_command();
Command subscriptions_command();
Command operations_command();
Command targets_command();
Command lanes_command();
Command boxes_command();
Command instances_command();
Command backup_command();
Command stats_command();
Command doctor_command();
Command providers_command();
Command completion_command();

/// The configuration in force, with `--store`; without a file: nothing but defaults. A relative store
/// of the file lies beside the file, one of `--store` in the folder we are in.
server::LoadedConfig load(const Globals& globals,
                          server::Secrets secrets = server::Secrets::needed);

/// For those who ask about a store: a server may have it open that read its configuration before it
/// was broken, or with secrets that are not here.
struct AskedConfig {
    /// With problems: nothing but its store.
    server::Config config{};
    /// What keeps the configuration from being used.
    Problems problems{};
};
AskedConfig load_to_ask(const Globals& globals);

/// The file that would be read; empty: none.
std::string config_file(const Globals& globals);
/// A file, or standard input for "-". Throws std::runtime_error.
std::string read_input(const std::string& path);

}  // namespace waybill::cli
