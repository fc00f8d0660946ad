#include "server/store_access.hpp"

#include <utility>

#include "waybill/memory.hpp"
#include "waybill/problems.hpp"
#include "waybill/sqlite.hpp"

namespace waybill::server {
namespace {

class SqliteAccess final : public StoreAccess {
public:
    SqliteAccess(const std::string& path, const StoreOptions& options)
        : first_(sqlite::open(
              path, {.synchronous = options.relaxed_durability ? sqlite::Synchronous::normal
                                                               : sqlite::Synchronous::full,
                     .busy_timeout = options.busy_timeout})) {}

    StoreHandle connect() override { return first_->connect(); }
    void backup(const std::string& path) override { first_->backup(path); }

private:
    std::unique_ptr<sqlite::SqliteStore> first_;
};

class MemoryAccess final : public StoreAccess {
public:
    StoreHandle connect() override { return first_->connect(); }
    void backup(const std::string&) override {
        throw ConfigError{
            {"store: what is in memory cannot be copied to a file; use \"sqlite:PATH\""}};
    }

private:
    std::unique_ptr<memory::MemoryStore> first_ = memory::open();
};

}  // namespace

StoreOptions store_options(const Config& config) {
    return {.relaxed_durability = config.relaxed_durability, .busy_timeout = config.busy_timeout};
}

std::string file_of(const std::string& url) {
    return url.starts_with("sqlite:") ? url.substr(7) : std::string{};
}

std::unique_ptr<StoreAccess> open_store(const std::string& url, const StoreOptions& options) {
    if (url == "memory:") return std::make_unique<MemoryAccess>();
    if (const std::string path = file_of(url); !path.empty()) {
        return std::make_unique<SqliteAccess>(path, options);
    }
    throw ConfigError{
        {"store: \"" + url + "\" is not a store; use \"sqlite:PATH\" or \"memory:\""}};
}

}  // namespace waybill::server
