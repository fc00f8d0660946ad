#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"
#include "waybill/inline.hpp"
#include "waybill/notebook.hpp"
#include "waybill/problems.hpp"
#include "waybill/runtime.hpp"
#include "waybill/schema.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

/// The embedded store: one SQLite file, durable through crash and power loss, owned by one process at
/// a time. It may be the file the application keeps its own tables in.
namespace waybill::sqlite {

/// How much is asked of the disk before something counts as stored.
enum class Synchronous : std::uint8_t {
    normal,  ///< a power cut may lose what was acknowledged: only with relaxed durability
    full,    ///< every commit is on the disk
    extra,   ///< the same, and the folder's entry of a journal that is deleted
};

/// How a file is opened.
struct Options {
    Synchronous synchronous = Synchronous::full;
    /// Partitions of a box that does not say otherwise. One process owns them all. 1 … 1,024.
    std::uint32_t partitions = 1;
    /// How long a call waits for the write lock: first for its turn here, then for the file. A round of
    /// calls waits as long as its most patient one. 1 ms … 10 min.
    Duration busy_timeout = std::chrono::seconds{5};
    /// An inline handler holds the write lock: beyond this it fails and is rolled back. 1 ms … 10 min.
    Duration inline_deadline = std::chrono::seconds{1};
    /// The journal is copied into the file when it has this many pages. 100 … 1,000,000.
    std::uint32_t checkpoint_pages = 4'000;

    bool operator==(const Options&) const = default;
};

/// All problems of the options.
Problems check(const Options& options);

using waybill::Schema;

/// Of a file that is not there yet.
Schema schema_of_new_file();

/// The SQL of the migrations from one version to a later one, to be read. 0: from nothing. Throws ConfigError
/// for versions that are not known.
std::string migration_script(std::uint32_t from, std::uint32_t to);

/// What a file is.
struct Glance {
    /// Version 0: our tables are not in it.
    Schema schema{};
    /// Somebody keeps these in it: the first few, by name.
    std::vector<std::string> tables_of_others{};

    bool operator==(const Glance&) const = default;
};

/// Looks at a file without opening it as a store: neither it nor its journal is changed, nothing is
/// locked, and whoever has it open goes on. Throws StoreError for one that is not there, may not be
/// read or is no SQLite database; an empty one has nothing in it.
Glance glance(const std::string& path);

/// One way into a store in a SQLite file. Several instances of one process each have their own.
///
/// Inline handlers get the `sqlite3*` of their transaction.
///
/// Thread safety: any call from any thread. A wake callback runs on the thread that committed or on
///                the store's own: it signals and does not call the store.
/// Lifetime:      the file is ours until the last connection is gone; the clock outlives them all.
///                Once the destructor has returned, its wake callback is not called again.
/// Errors:        StoreError. A full disk or a read-only file refuses writes and reads go on; a damaged
///                file and a disk that does not confirm a write are for a person.
class SqliteStore : public Store,
                    public Catalogue,
                    public Upkeep,
                    public InlineStore,
                    public Notebook {
public:
    /// Another connection to the same file, in this process.
    virtual std::unique_ptr<SqliteStore> connect() = 0;

    virtual Schema schema() = 0;
    using Upkeep::migrate;
    /// Only up to this one; what the file has beyond it stays. Throws ConfigError for one that is not
    /// known.
    virtual void migrate(std::uint32_t version) = 0;

    /// Everything SQLite finds wrong with the file; empty: sound. Reads all of it.
    virtual Problems integrity_check() = 0;
    /// Copies the file as it is now, while others go on writing. `path` must not exist yet. The copy
    /// is another timeline: nothing that was decided on this one counts there.
    virtual void backup(const std::string& path) = 0;
};

/// Opens or creates `path`, whose time is `clock.wall()`. Throws ConfigError for options and StoreError
/// for the file; one that another process has open is refused, with its name.
std::unique_ptr<SqliteStore> open(const std::string& path, Clock& clock,
                                  const Options& options = {});
/// The same on this host's own clock.
std::unique_ptr<SqliteStore> open(const std::string& path, const Options& options = {});

}  // namespace waybill::sqlite
