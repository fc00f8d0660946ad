#include "core/engine/routes.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace waybill::engine {
namespace {

/// So few are asked one by one.
constexpr std::size_t kFew = 8;
/// Kinds of messages that are remembered.
constexpr std::size_t kKindsMax = 20'000;

}  // namespace

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
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
        places.emplace(targets_[i].target.key, i);
    }
    std::unordered_set<std::string_view> superseded;
    for (const Target& target : registry) {
        for (const std::string& key : target.legacy_keys) {
            if (target.box == box_.name && key != target.key) {
                superseded.insert(key);
            }
        }
    }
    std::vector<const Target*> fresh;
    for (const Target& target : registry) {
        if (target.box != box_.name || superseded.contains(target.key)) {
            continue;
        }
        const auto known = places.find(target.key);
        if (known == places.end()) {
            fresh.push_back(&target);
            continue;
        }
        RouteTarget& route = targets_[known->second];
        seen[known->second] = true;
        if (route.target != target || route.forgotten) {
            route.target = target;
            route.forgotten = false;
            changed = true;
        }
    }
    for (const Target* target : fresh) {
        targets_.push_back({.target = *target,
                            .number = target_number(box_.name, target->key),
                            .local = local_of(*target)});
        seen.push_back(true);
        changed = true;
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

std::uint32_t Routes::local_of(const Target& target) const {
    const auto local = std::ranges::find_if(
        box_.targets, [&](const LocalTarget& own) { return own.target.key == target.key; });
    const bool is_here = local != box_.targets.end() ||
                         (box_.family != nullptr && target.key.starts_with(subscription_prefix));
    return is_here ? static_cast<std::uint32_t>(local - box_.targets.begin()) : no_executor;
}

bool Routes::wants(const RouteTarget& route, const Message& message) const {
    const Matcher& matcher = route.target.matcher;
    return !route.forgotten && matches(matcher, message) &&
           (matcher.tenant != other_tenants ||
            !named_tenants_.contains(lower_ascii(message.tenant)));
}

const std::vector<std::uint32_t>& Routes::wanting(const Message& message) const {
    const auto collect = [&](std::vector<std::uint32_t>& indexes) {
        indexes.clear();
        for (std::uint32_t i = 0; i < targets_.size(); ++i) {
            if (wants(targets_[i], message)) {
                indexes.push_back(i);
            }
        }
    };
    if (targets_.size() <= kFew) {
        collect(few_);
        return few_;
    }
    std::string kind = message.type;
    kind.append(1, '\0').append(message.source).append(1, '\0').append(message.tenant);
    if (kinds_.size() >= kKindsMax) {
        kinds_.clear();
    }
    const auto [found, is_new] = kinds_.try_emplace(std::move(kind));
    if (is_new) {
        collect(found->second);
    }
    return found->second;
}

void Routes::link() {
    kinds_.clear();
    by_key_.clear();
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        if (!targets_[i].forgotten) {
            by_key_.emplace(targets_[i].target.key, i);
        }
    }
    // A key that is in use is nobody's former one.
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        for (const std::string& key : targets_[i].target.legacy_keys) {
            if (!targets_[i].forgotten) {
                by_key_.emplace(key, i);
            }
        }
    }
    named_tenants_.clear();
    for (const RouteTarget& route : targets_) {
        const std::string& tenant = route.target.matcher.tenant;
        if (!route.forgotten && tenant.find('*') == std::string::npos) {
            named_tenants_.insert(lower_ascii(tenant));
        }
    }
    // Messages without a tenant have none that could be named.
    named_tenants_.erase("");
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
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? UINT32_MAX : found->second;
}

}  // namespace waybill::engine
