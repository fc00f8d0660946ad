#include <filesystem>
#include <fstream>

#include "cli/command.hpp"
#include "server/config/node.hpp"

/// Which configuration and which store a command is about.
namespace waybill::cli {
namespace {

/// The value of `store`, if this line of the file's beginning says it.
std::string store_in(const std::string& line) {
    try {
        for (const auto& [name, value] : server::parse_toml(line, {}).members) {
            if (name == "store" && value.kind == server::Node::Kind::text) return value.text;
        }
    } catch (const ConfigError&) {
        // Half a line of something else, or what is wrong with the file.
    }
    return {};
}

/// Where the store of a file is that cannot be used; what has no section stands before all sections.
std::string store_named_in(const std::string& file) {
    const server::Environment environment = server::process_environment();
    if (const auto said = environment.find("WAYBILL_STORE"); said != environment.end()) {
        return said->second;
    }
    std::ifstream lines{file, std::ios::binary};
    for (std::string line; std::getline(lines, line) && !line.starts_with('[');) {
        if (std::string store = store_in(line); !store.empty()) return store;
    }
    return server::Config{}.store;
}

void check_store_option(const Globals& globals) {
    if (globals.store.empty()) return;
    if (const std::string problem = server::problem_of_store(globals.store); !problem.empty()) {
        throw ConfigError{{"--store: " + problem}};
    }
}

}  // namespace

std::string config_file(const Globals& globals) {
    if (!globals.config_file.empty()) return globals.config_file;
    return std::filesystem::exists("waybill.toml") ? "waybill.toml" : std::string{};
}

server::LoadedConfig load(const Globals& globals, server::Secrets secrets) {
    const server::Environment environment = server::process_environment();
    const std::string file = config_file(globals);
    server::LoadedConfig loaded =
        file.empty() ? server::load_config({}, "waybill.toml", environment, secrets)
                     : server::load_config_file(file, environment, secrets);
    if (globals.store.empty()) return loaded;
    check_store_option(globals);
    loaded.config.store = globals.store;
    loaded.places["store"] = "--store: ";
    return loaded;
}

AskedConfig load_to_ask(const Globals& globals) {
    const std::string file = config_file(globals);
    check_store_option(globals);
    try {
        return {.config = load(globals, server::Secrets::unneeded).config};
    } catch (const ConfigError& error) {
        // One that is not there is another mistake: nobody knows where its store would be.
        if (file.empty() || !std::ifstream{file}) throw;
        AskedConfig asked;
        if (!globals.store.empty()) {
            // Whoever names the store asks for no more than that.
            asked.config.store = globals.store;
            return asked;
        }
        asked.problems = error.problems();
        asked.config.store = server::store_beside(file, store_named_in(file));
        return asked;
    }
}

}  // namespace waybill::cli
