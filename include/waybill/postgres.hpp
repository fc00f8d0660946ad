#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"
#include "waybill/inline.hpp"
#include "waybill/instances.hpp"
#include "waybill/notebook.hpp"
#include "waybill/problems.hpp"
#include "waybill/schema.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

/// The store that many instances share: a schema in a PostgreSQL database (13 or newer), which may be
/// the one the application keeps its own tables in.
namespace waybill::postgres {

/// How a database is used.
struct Options {
    /// The schema of our tables: 1 … 63 of [a-z0-9_], no digit first.
    std::string schema = "waybill";
    /// Partitions of a box that does not say otherwise: at most so many instances share it. 1 … 1,024.
    std::uint32_t partitions = 32;
    /// How long an append, a read or a settlement may take. 10 ms … 10 min.
    Duration deadline = std::chrono::seconds{5};
    /// The same for a heartbeat, which has a connection of its own: below a third of the lease.
    /// 10 ms … 10 min.
    Duration beat_deadline = std::chrono::milliseconds{1500};
    /// The same for people's questions and housekeeping. 10 ms … 10 min.
    Duration people_deadline = std::chrono::seconds{30};
    /// Appends at the same time, each a batch. 1 … 64.
    std::uint32_t append_connections = 2;
    /// Inline handlers at the same time. 1 … 1,000.
    std::uint32_t inline_connections = 16;
    /// Instances tell each other of new messages by NOTIFY, on a connection of their own. Through a pooler
    /// none arrive, and health() says so: they look now and then.
    bool wake_ups = true;

    bool operator==(const Options&) const = default;
};

/// All problems of the options.
Problems check(const Options& options);

using waybill::Schema;

/// One instance's way into a store in PostgreSQL, with its few connections. They are opened when they are
/// first needed and replaced when they are lost.
///
/// Inline handlers get the `PGconn*` of their transaction.
///
/// Thread safety: any call from any thread. A wake callback runs on a thread of the store's own: it
///                signals and does not call the store.
/// Lifetime:      once the destructor has returned, its wake callback is not called again.
/// Errors:        StoreError. A commit whose answer was lost is `find_out`, and may have been applied; so is one whose wait
///                for a synchronous standby was cancelled, which a failover may lose.
class PostgresStore : public Store,
                      public Catalogue,
                      public Upkeep,
                      public InlineStore,
                      public Notebook {
public:
    /// Who works on it, the oldest first; also the dead that partitions still name.
    virtual std::vector<InstanceSeen> instances() = 0;

    virtual Schema schema() = 0;
    using Upkeep::migrate;
    /// Only up to this one; what the database has beyond it stays. Throws ConfigError for one that is
    /// not known.
    virtual void migrate(std::uint32_t version) = 0;
};

/// `conninfo` is a URL (`postgresql://user@host/database`) or words (`host=… dbname=…`), as libpq takes
/// them. Nothing is connected yet: a server that cannot be reached is told by the first call.
/// Throws ConfigError.
std::unique_ptr<PostgresStore> open(const std::string& conninfo, const Options& options = {});

/// What migrate() would do to bring a schema from one version to a later one, as SQL for whoever may. 0: from
/// nothing. Throws ConfigError for versions that are not known.
std::string migration_script(std::uint32_t from, std::uint32_t to,
                             const std::string& schema = "waybill");

}  // namespace waybill::postgres
