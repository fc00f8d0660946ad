#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/config/config.hpp"
#include "waybill/instances.hpp"
#include "waybill/notebook.hpp"
#include "waybill/schema.hpp"
#include "waybill/store_handle.hpp"
#include "waybill/time.hpp"

namespace waybill::server {

/// An opened store and further ways into it: each instance and the operators' desk have their own.
///
/// Thread safety: any thread.
/// Errors:        ConfigError for a URL it does not know; StoreError for what it cannot open.
class StoreAccess {
public:
    virtual ~StoreAccess() = default;

    virtual StoreHandle connect() = 0;
    /// For an engine: its heartbeats are answered, or given up, well before this lease ends.
    virtual StoreHandle connect_for(Duration /*lease*/) { return connect(); }
    virtual Notebook& notebook() = 0;
    /// Who works on a store that many share; nothing where only one process can.
    virtual std::optional<std::vector<InstanceSeen>> instances() { return std::nullopt; }

    virtual Schema schema() = 0;
    /// 0: to the newest this version knows. Throws ConfigError for one that is not known.
    virtual void migrate(std::uint32_t version = 0) = 0;
    /// Copies it to a new file while others go on. Throws ConfigError where there is none to copy.
    virtual void backup(const std::string& path) = 0;
};

struct StoreOptions {
    bool relaxed_durability = false;
    /// How long a write waits for whoever else has the file locked.
    Duration busy_timeout = std::chrono::seconds{2};
};

StoreOptions store_options(const Config& config);

/// "sqlite:PATH", "postgresql://…" or "memory:".
std::unique_ptr<StoreAccess> open_store(const std::string& url, const StoreOptions& options);

/// The path of "sqlite:PATH"; empty for other stores.
std::string file_of(const std::string& url);
/// Several processes may have it open at once, on several hosts: "postgresql://…".
bool is_shared(const std::string& url);
/// Of a URL that is_shared(). In postgres_access.cpp, where this program was built with it.
std::unique_ptr<StoreAccess> open_postgres(const std::string& url);
std::string postgres_migration_script(std::uint32_t from, std::uint32_t to);

/// The SQL that brings a store of this kind from one version to another; "": it has none.
std::string migration_script(const std::string& url, std::uint32_t from, std::uint32_t to);

}  // namespace waybill::server
