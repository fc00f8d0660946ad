#include "core/engine/routes.hpp"

#include <algorithm>

namespace waybill::engine {

Routes::Routes(const LocalBox& box) : box_(box) {
    // Until the registry arrives the instance knows its own targets, which it is about to declare.
    std::vector<Target> own;
    own.reserve(box.targets.size());
    for (const LocalTarget& target : box.targets) {
        own.push_back(target.target);
    }
    update(own);
}

Routes::Change Routes::update(std::span<const Target> registry) {
    bool changed = false;
    std::vector<std::uint32_t> before;
    for (const RouteTarget& target : targets_) {
        before.push_back(target.chain);
    }
    std::vector<bool> seen(targets_.size(), false);
    const auto superseded = [&](const Target& target) {
        return std::ranges::any_of(registry, [&](const Target& other) {
            return other.box == box_.name && other.key != target.key &&
                   std::ranges::find(other.legacy_keys, target.key) != other.legacy_keys.end();
        });
    };
    for (const Target& target : registry) {
        if (target.box != box_.name || superseded(target)) {
            continue;
        }
        const auto known = std::ranges::find_if(
            targets_, [&](const RouteTarget& route) { return route.target.key == target.key; });
        if (known == targets_.end()) {
            RouteTarget route{.target = target, .number = target_number(box_.name, target.key)};
            const auto local = std::ranges::find_if(
                box_.targets, [&](const LocalTarget& own) { return own.target.key == target.key; });
            route.local = local == box_.targets.end()
                              ? no_executor
                              : static_cast<std::uint32_t>(local - box_.targets.begin());
            targets_.push_back(std::move(route));
            seen.push_back(true);
            changed = true;
            continue;
        }
        seen[static_cast<std::size_t>(known - targets_.begin())] = true;
        if (known->target != target || known->forgotten) {
            known->target = target;
            known->forgotten = false;
            changed = true;
        }
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
        if (!seen[i] && !targets_[i].forgotten) {
            targets_[i].forgotten = true;
            changed = true;
        }
    }
    if (!changed) {
        return Change::none;
    }
    link();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (targets_[i].chain != before[i]) {
            return Change::chains;
        }
    }
    return Change::targets;
}

void Routes::link() {
    predecessors_.assign(targets_.size(), UINT32_MAX);
    for (std::size_t i = 0; i < targets_.size(); ++i) {
        if (!targets_[i].target.after.empty()) {
            predecessors_[i] = find(targets_[i].target.after);
        }
    }
    // A chain is named by its first target, so that a new successor joins the chain of its root and
    // no existing chain is renumbered. A circle (refused by check_together, but another version may
    // have registered one) is cut after as many steps as there are targets.
    chains_ = static_cast<std::uint32_t>(targets_.size());
    chain_local_.assign(chains_, false);
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        std::uint32_t root = i;
        for (std::size_t step = 0; step < targets_.size() && predecessors_[root] != UINT32_MAX;
             ++step) {
            root = predecessors_[root];
        }
        targets_[i].chain = root;
        if (targets_[i].local != no_executor && !targets_[i].forgotten) {
            chain_local_[root] = true;
        }
    }
}

std::uint32_t Routes::find(std::string_view key) const {
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        if (!targets_[i].forgotten && targets_[i].target.key == key) {
            return i;
        }
    }
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        if (!targets_[i].forgotten && std::ranges::find(targets_[i].target.legacy_keys, key) !=
                                          targets_[i].target.legacy_keys.end()) {
            return i;
        }
    }
    return UINT32_MAX;
}

}  // namespace waybill::engine
