#include "cli/open_store.hpp"

#include <fstream>
#include <stdexcept>

#include "server/token.hpp"
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
    std::ifstream owner{file + "-owner"};
    std::getline(owner, process);
    std::string text = (process.empty() ? "another process" : "process " + process) + " has " +
                       config.store + " open";
    if (const auto local = server::read_local_access(server::local_access_file(file))) {
        text += ", the server at " + local->url;
    }
    throw std::runtime_error(text + "; " + remedy);
}

}  // namespace

std::unique_ptr<server::StoreAccess> open_for_command(const server::Config& config,
                                                      const std::string& remedy) {
    try {
        return server::open_store(config.store, server::store_options(config));
    } catch (const StoreError& error) {
        throw_for_operator(config, error, remedy);
    }
}

}  // namespace waybill::cli
