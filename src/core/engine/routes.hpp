#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/engine/engine.hpp"

/// Which targets a message is for: the store's registry joined with the executors of this instance.
namespace waybill::engine {

/// A registered target of one box. Its index never changes while the engine lives.
struct RouteTarget {
    Target target{};
    std::uint64_t number = 0;
    /// Index into LocalBox::targets, one past its end for the family's, or `no_executor`.
    std::uint32_t local = 0;
    /// Targets linked by `after` share a chain, and a chain shares one order per lane.
    std::uint32_t chain = 0;
    /// Removed from the registry: no message is for it any more.
    bool forgotten = false;
};

inline constexpr std::uint32_t no_executor = UINT32_MAX;

/// All routes of one box.
class Routes {
public:
    explicit Routes(const LocalBox& box);

    /// `chains`: a known target moved to another chain, so that what is in memory is laid out wrongly.
    enum class Change : std::uint8_t { none, targets, chains };
    /// Replaces the registry; tells what changed for messages that are already here.
    Change update(std::span<const Target> registry);

    const std::vector<RouteTarget>& targets() const { return targets_; }
    std::uint32_t chains() const { return chains_; }
    /// Some target of the chain has its executor here: only then is it worth keeping in memory.
    bool chain_is_local(std::uint32_t chain) const { return chain_local_[chain]; }
    /// By key or legacy key; UINT32_MAX if unknown.
    std::uint32_t find(std::string_view key) const;
    /// Indexes of those that want the message, in their order. Good until the next call.
    const std::vector<std::uint32_t>& wanting(const Message& message) const;
    /// Index of the target that `target` runs after; UINT32_MAX for none.
    std::uint32_t predecessor(std::uint32_t target) const { return predecessors_[target]; }

private:
    void link();
    std::uint32_t local_of(const Target& target) const;
    bool wants(const RouteTarget& route, const Message& message) const;

    const LocalBox& box_;
    std::vector<RouteTarget> targets_;
    std::vector<std::uint32_t> predecessors_;
    std::vector<bool> chain_local_;
    std::uint32_t chains_ = 0;
    /// Also by their former keys. They point into `targets_`.
    std::unordered_map<std::string_view, std::uint32_t> by_key_{};
    /// Tenants that some target names, in lower case.
    std::unordered_set<std::string> named_tenants_{};
    /// With thousands of targets it pays to look only once for each kind of message.
    mutable std::unordered_map<std::string, std::vector<std::uint32_t>> kinds_{};
    mutable std::vector<std::uint32_t> few_{};
};

}  // namespace waybill::engine
