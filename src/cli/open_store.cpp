#include "cli/open_store.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "server/config/secret.hpp"
#include "server/token.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/store.hpp"

namespace waybill::cli {
namespace {

/// In the words of somebody who runs programs, not one who writes them.
[[noreturn]] void throw_for_operator(const server::Config& config, const StoreError& error,
                                     const std::string& remedy) {
    // Opening answers so only when somebody else has the file.
    if (error.reaction() != Reaction::back_off) throw StoreError{error};
    const std::string file = server::file_of(config.store);
    std::string process;
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::canonical(file, ignored);
    std::ifstream owner{(ignored ? file : real.string()) + "-owner"};
    std::getline(owner, process);
    std::string text = (process.empty() ? "another process" : "process " + process) + " has " +
                       config.store + " open";
    if (const auto local = server::read_local_access(server::local_access_file(file))) {
        text += ", the server at " + local->url;
    }
    throw std::runtime_error(text + "; " + remedy);
}

std::string listed(const std::vector<std::string>& tables) {
    std::string list;
    for (const std::string& table : tables) list += (list.empty() ? "" : ", ") + table;
    return list;
}

}  // namespace

void must_hold_a_store(const std::string& file, bool may_migrate) {
    const sqlite::Glance seen = sqlite::glance(file);
    const std::string migrate = "`waybill migrate --store sqlite:" + file + "`";
    if (seen.schema.version > 0) {
        if (seen.schema.missing.empty() || may_migrate) return;
        throw std::runtime_error(file + " is of version " + std::to_string(seen.schema.version) +
                                 " of " + std::to_string(seen.schema.newest) + "; " + migrate +
                                 " or the next `waybill serve` brings it to this one");
    }
    if (!seen.tables_of_others.empty()) {
        throw std::runtime_error(
            file + " is a database of something else (tables: " + listed(seen.tables_of_others) +
            ") and no store; name the store with --store, or, if both shall "
            "share this file, run " +
            migrate + " first");
    }
    if (may_migrate) return;
    throw std::runtime_error(file + " is empty; `waybill serve` or " + migrate +
                             " makes a store of it, --store names another");
}

void must_have_tables(const server::Config& config, const Schema& schema) {
    const std::string store = server::masked_url(config.store);
    if (schema.version == 0) {
        throw std::runtime_error(store +
                                 " has no tables of ours; `waybill serve` or `waybill migrate` "
                                 "makes them, --store names another");
    }
    if (!schema.missing.empty()) {
        throw std::runtime_error(store + " is of version " + std::to_string(schema.version) +
                                 " of " + std::to_string(schema.newest) +
                                 "; `waybill migrate` or the next `waybill serve` brings it to "
                                 "this one");
    }
}

std::unique_ptr<server::StoreAccess> open_for_command(const server::Config& config,
                                                      const std::string& remedy) {
    try {
        return server::open_store(config.store, server::store_options(config));
    } catch (const StoreError& error) {
        throw_for_operator(config, error, remedy);
    }
}

}  // namespace waybill::cli
