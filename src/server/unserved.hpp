#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/config/config.hpp"
#include "waybill/catalogue.hpp"

/// Targets the store knows and the configuration does not: renamed or removed ones. What they match is
/// not done before they are, so messages pile up behind them without a word.
namespace waybill::server {

struct UnservedTarget {
    std::string box{};
    std::string key{};
    /// Open messages it has yet to end.
    std::uint64_t waiting = 0;

    bool operator==(const UnservedTarget&) const = default;
};

/// Whether the configuration has it, perhaps under a newer key. Pure.
bool is_served(const Config& config, const Target& target);
/// Those nobody serves and no other registered one took over from. On the stores of today one process
/// has all instances. Throws StoreError.
std::vector<UnservedTarget> unserved_targets(Catalogue& catalogue, const Config& config);

/// For people: what is so, and the two things to do.
std::string text_of(const UnservedTarget& target);

}  // namespace waybill::server
