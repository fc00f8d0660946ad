#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/config/config.hpp"
#include "waybill/catalogue.hpp"
#include "waybill/store_handle.hpp"
#include "waybill/time.hpp"

/// Targets the store knows and the configuration does not: renamed or removed ones. What they match is
/// not done before they are, so messages pile up behind them without a word.
namespace waybill::server {

struct UnservedTarget {
    std::string box{};
    std::string key{};
    /// Open messages it has yet to end.
    std::uint64_t waiting = 0;

    bool operator==(const UnservedTarget&) const = default;
};

/// Whether the configuration has it, perhaps under a newer key. Pure.
bool is_served(const Config& config, const Target& target);
/// Those nobody serves and no other registered one took over from. Of a
/// store that many processes share nothing is said. Throws StoreError.
std::vector<UnservedTarget> unserved_targets(Catalogue& catalogue, const Config& config);

/// For people: what is so, and the two things to do.
std::string text_of(const UnservedTarget& target);

/// Remembers which they are: looking takes time where much is open, and who asks every second does not
/// want to wait for it.
///
/// Thread safety: any thread.
class UnservedWatch {
public:
    /// The store is its own way in, so that nobody else waits for it.
    UnservedWatch(StoreHandle store, std::function<Config()> config)
        : store_(std::move(store)), config_(std::move(config)) {}

    /// What was seen last.
    std::vector<UnservedTarget> last() const;
    /// That was half a minute ago, or longer where looking takes long: somebody should look. Said once.
    bool is_due();
    /// Blocks on the store. What cannot be seen is not there.
    std::vector<UnservedTarget> look();

private:
    const StoreHandle store_;
    const std::function<Config()> config_;

    mutable std::mutex mutex_{};  ///< guards the two below
    std::vector<UnservedTarget> last_{};
    LocalTime due_at_{};
};

}  // namespace waybill::server
