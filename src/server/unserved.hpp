#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/config.hpp"
#include "waybill/catalogue.hpp"
#include "waybill/health.hpp"
#include "waybill/instances.hpp"
#include "waybill/store_handle.hpp"
#include "waybill/time.hpp"

/// Targets the store knows and nobody serves: renamed or removed ones. What they match is not done
/// before they are, so messages pile up behind them without a word.
namespace waybill::server {

/// Who carries work out on a store.
struct WhoServes {
    /// Of a store that many share, as it knows them; of another, this process. Empty: nobody is asked.
    std::function<std::vector<InstanceSeen>()> instances{};
    /// What is configured here is served: by this process, or by the one that would open the store.
    bool configuration_counts = true;
};

/// A process that has its store to itself, as an instance of it.
InstanceSeen described(const Config& config, const Status& status, StoreTime since);

struct UnservedTarget {
    std::string box{};
    std::string key{};
    /// Open messages it has yet to end.
    std::uint64_t waiting = 0;

    bool operator==(const UnservedTarget&) const = default;
};

/// The key of a subscription that stands, or stood, in a configuration: its id is of version 8.
bool is_of_a_file(std::string_view key);
/// Whether the configuration has it, perhaps under a newer key. Pure.
bool is_served(const Config& config, const Target& target);
/// Those nobody serves and no other registered one took over from. `config` is null where it could not be
/// read: where that leaves nobody to ask, nothing is said. Throws StoreError.
std::vector<UnservedTarget> unserved_targets(Catalogue& catalogue, const Config* config,
                                             const WhoServes& who);
/// There is somebody to ask.
bool can_tell_served(const Config* config, const WhoServes& who);

/// For people: what is so, and the two things to do.
std::string text_of(const UnservedTarget& target);

/// Remembers which they are: looking takes time where much is open, and who asks every second does not
/// want to wait for it.
///
/// Thread safety: any thread.
class UnservedWatch {
public:
    /// The store is its own way in, so that nobody else waits for it.
    UnservedWatch(StoreHandle store, std::function<Config()> config, WhoServes who)
        : store_(std::move(store)), config_(std::move(config)), who_(std::move(who)) {}

    /// What was seen last.
    std::vector<UnservedTarget> last() const;
    /// That was half a minute ago, or longer where looking takes long: somebody should look. Said once.
    bool is_due();
    /// Blocks on the store. What cannot be seen is not there.
    std::vector<UnservedTarget> look();

private:
    const StoreHandle store_;
    const std::function<Config()> config_;
    const WhoServes who_;

    mutable std::mutex mutex_{};  ///< guards the two below
    std::vector<UnservedTarget> last_{};
    LocalTime due_at_{};
};

}  // namespace waybill::server
