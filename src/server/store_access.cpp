#include "server/store_access.hpp"

#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "waybill/memory.hpp"
#include "waybill/problems.hpp"
#include "waybill/sqlite.hpp"

namespace waybill::server {
namespace {

/// Messages and secrets of others are in it: a new file is for its owner alone. SQLite gives its
/// journal the same rights. One that is there keeps what it has.
const std::string& made_private(const std::string& path) {
    if (path == ":memory:") return path;  // refused in a moment
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) ::close(file);
    return path;
}

class SqliteAccess final : public StoreAccess {
public:
    SqliteAccess(const std::string& path, const StoreOptions& options)
        : first_(sqlite::open(made_private(path), {.synchronous = options.relaxed_durability
                                                                      ? sqlite::Synchronous::normal
                                                                      : sqlite::Synchronous::full,
                                                   .busy_timeout = options.busy_timeout})) {}

    StoreHandle connect() override { return first_->connect(); }
    Notebook& notebook() override { return *first_; }
    Schema schema() override { return first_->schema(); }
    void migrate(std::uint32_t version) override {
        version == 0 ? first_->migrate() : first_->migrate(version);
    }
    void backup(const std::string& path) override { first_->backup(path); }

private:
    std::unique_ptr<sqlite::SqliteStore> first_;
};

class MemoryAccess final : public StoreAccess {
public:
    StoreHandle connect() override { return first_->connect(); }
    Notebook& notebook() override { return *first_; }
    Schema schema() override { return {}; }
    void migrate(std::uint32_t) override {}
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

bool is_shared(const std::string& url) {
    return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

std::unique_ptr<StoreAccess> open_store(const std::string& url, const StoreOptions& options) {
    if (url == "memory:") return std::make_unique<MemoryAccess>();
    if (const std::string path = file_of(url); !path.empty()) {
        return std::make_unique<SqliteAccess>(path, options);
    }
#ifdef WAYBILL_WITH_POSTGRES
    if (is_shared(url)) return open_postgres(url);
#endif
    throw ConfigError{{"store: " + problem_of_store(url)}};
}

std::string migration_script(const std::string& url, std::uint32_t from, std::uint32_t to) {
    if (!file_of(url).empty()) return sqlite::migration_script(from, to);
#ifdef WAYBILL_WITH_POSTGRES
    if (is_shared(url)) return postgres_migration_script(from, to);
#endif
    return {};
}

}  // namespace waybill::server
