#include "instances.hpp"

#include <algorithm>

namespace waybill::sqlite {

void Instances::put(const void* connection, const InstanceState& state) {
    Peer peer{.incarnation = state.incarnation,
              .name = state.name,
              .stopping = state.stopping,
              .guest = state.guest,
              .hungry = state.hungry,
              .boxes = state.boxes,
              .executes = state.executes,
              .running = state.running,
              .waiting = state.waiting};
    const std::lock_guard lock{mutex_};
    known_.insert_or_assign(state.incarnation, Known{connection, std::move(peer)});
}

void Instances::remove(const Uuid& incarnation) {
    const std::lock_guard lock{mutex_};
    known_.erase(incarnation);
}

void Instances::remove_all_of(const void* connection) {
    const std::lock_guard lock{mutex_};
    std::erase_if(known_, [&](const auto& item) { return item.second.connection == connection; });
}

bool Instances::is_alive(const Uuid& incarnation) const {
    const std::lock_guard lock{mutex_};
    return known_.contains(incarnation);
}

bool Instances::any() const {
    const std::lock_guard lock{mutex_};
    return !known_.empty();
}

std::vector<Peer> Instances::peers() const {
    std::vector<Peer> all;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [incarnation, known] : known_) all.push_back(known.peer);
    }
    std::ranges::sort(all, {}, &Peer::incarnation);
    return all;
}

}  // namespace waybill::sqlite
