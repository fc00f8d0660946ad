#pragma once

#include <optional>
#include <set>
#include <utility>

#include "core/engine/running.hpp"

namespace waybill::engine {

/// Which targets to look at when: thousands may rest, and each time one of them has rested it is that one.
class Rests {
public:
    void add(LocalTime until, TargetPlace target) { all_.emplace(until, target); }
    LocalTime first() const { return all_.empty() ? local_never : all_.begin()->first; }
    /// One that may have rested. Nothing: none yet.
    std::optional<TargetPlace> pop(LocalTime now) {
        if (now < first()) {
            return std::nullopt;
        }
        return all_.extract(all_.begin()).value().second;
    }

private:
    std::set<std::pair<LocalTime, TargetPlace>> all_{};
};

}  // namespace waybill::engine
