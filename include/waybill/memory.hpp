#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "waybill/catalogue.hpp"
#include "waybill/inline.hpp"
#include "waybill/notebook.hpp"
#include "waybill/problems.hpp"
#include "waybill/runtime.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

/// The reference store: everything a database does for Waybill, in the memory of one process and
/// gone with it. For tests, for examples, and to be copied by whoever writes the next store.
namespace waybill::memory {

/// How a store in memory is opened.
struct Options {
    /// Partitions of a box that does not say otherwise. 1 … 1,024.
    std::uint32_t partitions = 1;

    bool operator==(const Options&) const = default;
};

/// All problems of the options.
Problems check(const Options& options);

/// What an inline handler gets as its native handle: what it adds here commits together with its
/// success, or not at all.
struct Transaction {
    std::vector<Append> appends{};
};

/// One connection to a store in memory. Each instance has its own, as it would to a database.
///
/// Thread safety: any call from any thread; one mutex guards the data. A wake callback runs on the
///                thread that wrote, outside that mutex: it signals and does not call the store.
/// Lifetime:      the data lives as long as its last connection; the clock outlives them all. Once
///                the destructor has returned, its wake callback is not called again.
/// Errors:        StoreError(bad_data) for a box nobody declared; nothing else fails.
class MemoryStore : public Store,
                    public Catalogue,
                    public Upkeep,
                    public InlineStore,
                    public Notebook {
public:
    /// Another connection to the same data.
    virtual std::unique_ptr<MemoryStore> connect() = 0;
};

/// An empty store, whose time is `clock.wall()`. Throws ConfigError.
std::unique_ptr<MemoryStore> open(Clock& clock, const Options& options = {});
/// The same on this host's own clock.
std::unique_ptr<MemoryStore> open(const Options& options = {});

}  // namespace waybill::memory
