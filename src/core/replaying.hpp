#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"

/// Whether a delivery that has ended may become new work: what every store decides alike. Pure.
namespace waybill::detail {

/// What a store knows of a message when somebody wants it replayed.
struct ReplayFacts {
    /// Box, type, source, tenant.
    Message message{};
    std::vector<Entry> open{};
    std::vector<DeadLetter> letters{};
    /// The highest generation that anything of it ever had.
    std::uint32_t requeues = 0;
};

struct ReplayVerdict {
    /// Why not; empty: it may.
    std::string refusal{};
    /// Of the registered target, whatever key it was asked by.
    std::string target{};
    /// Not empty: it is dead, under this key, and replaying it is requeueing it.
    std::string dead_as{};
};

/// `targets`: the whole registry.
ReplayVerdict judge_replay(const std::string& target, const ReplayFacts& facts,
                           std::span<const Target> targets);

/// Of the row that a replay makes: one more than ever before.
std::uint32_t next_generation(const ReplayFacts& facts);

OperationResult no_such_message(const Uuid& id);

}  // namespace waybill::detail
