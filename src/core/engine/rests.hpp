#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/engine/running.hpp"

namespace waybill::engine {

/// Which targets to look at when: thousands may rest, and each time one of them has rested it is that one. Each is here
/// once, however often it is told to rest.
class Rests {
public:
    void add(LocalTime until, TargetPlace target) {
        const auto [known, is_new] = until_.try_emplace(target, until);
        if (!is_new) {
            all_.erase({known->second, target});
            known->second = until;
        }
        all_.emplace(until, target);
    }
    std::size_t size() const { return all_.size(); }
    LocalTime first() const { return all_.empty() ? local_never : all_.begin()->first; }
    /// One that may have rested. Nothing: none yet.
    std::optional<TargetPlace> pop(LocalTime now) {
        if (now < first()) {
            return std::nullopt;
        }
        const TargetPlace target = all_.extract(all_.begin()).value().second;
        until_.erase(target);
        return target;
    }

private:
    std::set<std::pair<LocalTime, TargetPlace>> all_{};
    std::map<TargetPlace, LocalTime> until_{};
};

}  // namespace waybill::engine
