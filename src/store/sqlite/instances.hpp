#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "waybill/ownership.hpp"

namespace waybill::sqlite {

/// The instances of this process that use the file. One process has it (owner_lock.hpp), so whoever
/// is not in this list is gone, and no clock is asked.
///
/// Thread safety: any call from any thread.
class Instances {
public:
    void put(const void* connection, const InstanceState& state);
    void remove(const Uuid& incarnation);
    /// The connection is closed: its instances end with it.
    void remove_all_of(const void* connection);
    bool is_alive(const Uuid& incarnation) const;
    bool any() const;
    /// By incarnation.
    std::vector<Peer> peers() const;

private:
    struct Known {
        const void* connection = nullptr;
        Peer peer{};
    };
    mutable std::mutex mutex_{};  ///< guards known_
    std::unordered_map<Uuid, Known> known_{};
};

}  // namespace waybill::sqlite
