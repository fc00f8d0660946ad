#include "waybill/instances.hpp"

#include <algorithm>

#include "waybill/ownership.hpp"

namespace waybill {

bool serves(const InstanceSeen& instance, const Target& target) {
    return instance.alive &&
           std::ranges::find(instance.executes, target_number(target.box, target.key)) !=
               instance.executes.end();
}

bool took_over(const Target& newer, const Target& older) {
    return newer.box == older.box && newer.key != older.key &&
           std::ranges::find(newer.legacy_keys, older.key) != newer.legacy_keys.end();
}

std::vector<Target> without_instance(std::span<const Target> registry,
                                     std::span<const InstanceSeen> instances) {
    std::vector<Target> found;
    for (const Target& target : registry) {
        const bool is_replaced = std::ranges::any_of(
            registry, [&](const Target& other) { return took_over(other, target); });
        const bool is_served = std::ranges::any_of(
            instances, [&](const InstanceSeen& instance) { return serves(instance, target); });
        if (!is_replaced && !is_served) found.push_back(target);
    }
    return found;
}

}  // namespace waybill
