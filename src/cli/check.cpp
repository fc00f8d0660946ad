#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "cli/command.hpp"
#include "server/config/here.hpp"
#include "server/config/secret.hpp"
#include "server/doctor.hpp"
#include "server/store_access.hpp"
#include "server/unusable.hpp"
#include "waybill/problems.hpp"
#include "waybill/providers.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

namespace waybill::cli {
namespace {

std::string counted(std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Of what the doctor finds, what keeps a server from starting.
Problems problems_of_role(const server::LoadedConfig& loaded) {
    constexpr std::array<std::string_view, 3> kNames{"may-not-migrate", "missing-privileges",
                                                     "read-only-role"};
    Problems problems;
    for (const Finding& found : server::examine({.store = loaded.config.store})) {
        const bool is_read_only = found.what.starts_with("default_transaction_read_only is on");
        if (std::ranges::find(kNames, found.name) == kNames.end() && !is_read_only) continue;
        problems.push_back(loaded.place("store") + found.what +
                           "; `waybill doctor` says what to do");
    }
    return problems;
}

Problems problems_of_database(const server::LoadedConfig& loaded) {
    const server::Config& config = loaded.config;
    try {
        const auto access = server::open_store(config.store, server::store_options(config));
        access->schema();
        Problems problems = problems_of_role(loaded);
        if (!config.relaxed_durability && problems.empty()) {
            problems = access->connect().upkeep()->check_settings();
        }
        return problems;
    } catch (const StoreError& error) {
        return {loaded.place("store") + error.what()};
    }
}

/// What would keep `serve` from opening it. A store that a server has open is fine.
Problems problems_of_store(const server::LoadedConfig& loaded) {
    const server::Config& config = loaded.config;
    const std::string place = loaded.place("store");
    const std::string file = server::file_of(config.store);
    if (server::is_shared(config.store)) return problems_of_database(loaded);
    if (file.empty()) return {};
    const std::string folder = std::filesystem::path{file}.parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
        return {place + "this user cannot write to the folder of " + file +
                "; change its permissions, or name a file elsewhere"};
    }
    if (!std::filesystem::exists(file)) return {};
    if (::access(file.c_str(), R_OK | W_OK) != 0) {
        return {place + "this user cannot read and write " + file + "; change its permissions"};
    }
    try {
        // Opening would change it, and it may be somebody else's.
        if (sqlite::glance(file).schema.version == 0) return {};
        const auto access = server::open_store(config.store, server::store_options(config));
        access->schema();
        if (config.relaxed_durability) return {};
        return access->connect().upkeep()->check_settings();
    } catch (const StoreError& error) {
        if (error.reaction() == Reaction::back_off) return {};
        return {place + error.what()};
    }
}

/// For who mistook one file for another; empty: nothing to say.
std::string warning_of_store(const server::LoadedConfig& loaded) {
    const std::string file = server::file_of(loaded.config.store);
    if (file.empty() || !std::filesystem::exists(file)) return {};
    const sqlite::Glance seen = sqlite::glance(file);
    if (seen.schema.version > 0 || seen.tables_of_others.empty()) return {};
    return loaded.place("store") + file + " is a database of something else (table " +
           seen.tables_of_others.front() + " …); serve would keep its own tables beside those";
}

std::vector<std::string> warnings_of_subscriptions(const server::Config& config) {
    try {
        return server::texts_of(server::unusable_subscriptions(config));
    } catch (const StoreError&) {
        return {};  // of the store it was said before
    }
}

int check(const Arguments& arguments, const Globals& globals) {
    const server::LoadedConfig loaded = load(globals);
    const server::SaidHere here = server::check_here(loaded, system_clock().wall());
    Problems problems = providers::self_test();
    for (const Problems& more : {problems_of_store(loaded), here.problems}) {
        problems.insert(problems.end(), more.begin(), more.end());
    }
    for (const Problems& some : {loaded.warnings, here.warnings}) {
        for (const std::string& warning : some) std::cerr << "warning: " << warning << "\n";
    }
    if (!problems.empty()) throw ConfigError{std::move(problems)};
    if (const std::string warning = warning_of_store(loaded); !warning.empty()) {
        std::cerr << "warning: " << warning << "\n";
    }
    for (const std::string& text : warnings_of_subscriptions(loaded.config)) {
        std::cerr << "warning: " << text << "\n";
    }
    if (arguments.has("print")) {
        std::cout << loaded.effective;
        return 0;
    }
    const server::Config& config = loaded.config;
    if (const std::string file = config_file(globals); !file.empty()) {
        std::cout << file << ": fine. " << counted(config.sources.size(), "source") << ", "
                  << counted(config.targets.size(), "target") << ", "
                  << counted(config.subscriptions.size(), "subscription") << ", store "
                  << server::masked_url(config.store) << "\n";
    } else {
        std::cout << "no configuration file: fine. `" << globals.program
                  << " serve` starts the demo: a source \"demo\" and a target that writes to the "
                     "log, store "
                  << server::masked_url(config.store) << "\n";
    }
    return 0;
}

}  // namespace

Command check_command() {
    return {.name = "check",
            .summary = "Says everything that is wrong with the configuration, with line and remedy",
            .usage = "check [--print]",
            .options = {{"print", "", "what is in force, as TOML, secrets masked"}},
            .examples =
                "  waybill check\n"
                "  waybill check --config waybill.toml --print\n",
            .run = check};
}

}  // namespace waybill::cli
