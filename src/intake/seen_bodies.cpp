#include "intake/seen_bodies.hpp"

namespace waybill::intake {

std::optional<std::string> SeenBodies::note(const std::string& hash, const std::string& id) {
    if (bodies_max_ == 0) return std::nullopt;
    const std::lock_guard lock{mutex_};
    const auto [known, is_new] = id_by_hash_.try_emplace(hash, id);
    if (!is_new) return known->second == id ? std::nullopt : std::optional{known->second};
    oldest_first_.push_back(hash);
    if (oldest_first_.size() > bodies_max_) {
        id_by_hash_.erase(oldest_first_.front());
        oldest_first_.pop_front();
    }
    return std::nullopt;
}

}  // namespace waybill::intake
