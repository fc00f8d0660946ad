#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "simulation/dice.hpp"

/// What a seed decides before anything runs: the boxes, the instances, and which faults are on.
namespace waybill::sim {

/// A target as this run has it; the truth the checker holds the engine to.
struct TargetPlan {
    Target target{};
    TargetOptions options{};
    /// Only instances of the new version have it.
    bool is_late = false;
    /// Only instances of the old version have it; an operator forgets it when they are gone.
    bool is_retired = false;
};

struct BoxPlan {
    std::string name{};
    BoxOptions options{};
    std::vector<TargetPlan> targets{};
    std::vector<std::string> lanes{};
    std::vector<std::string> types{};
    std::vector<std::string> tenants{};
    double laned = 1.0;
    double keyed = 0.0;
    double collapsing = 0.0;
    double scheduled = 0.0;
};

/// Chances per call, or events per virtual second; zero: this kind is off.
struct FaultPlan {
    double error_before = 0;
    double error_after = 0;
    double stall = 0;
    double lost_hint = 0;
    double slow_take = 0;
    double slow_settle = 0;
    double crash = 0;
    double pause = 0;
    double restart = 0;
    double outage = 0;
    double failover = 0;
    double clock_step = 0;
    double rollback = 0;
    double long_transaction = 0;
    /// A call of a frozen or dead process that keeps its locks for about a lease.
    double frozen_lock = 0;
};

/// What handlers do, as shares; the rest succeeds.
struct HandlerPlan {
    double fails = 0;
    double permanent = 0;
    double defers = 0;
    double hangs = 0;
    double hangs_for_ever = 0;
    double is_slow = 0;
    double crashes_once = 0;
    double bad_text = 0;
    double partial = 0;
    std::uint32_t poisons = 0;
};

struct OperatorPlan {
    double requeue = 0;
    double discard = 0;
    double cancel = 0;
    double skip = 0;
    double pause = 0;
};

struct Plan {
    std::uint64_t seed = 0;
    std::uint32_t instances = 3;
    bool has_guest = false;
    /// Instances begin with the old version and are upgraded at some time.
    bool is_rolling = false;
    /// One writer at a time: the sequence is the order of commit, and the store says how far it is
    /// complete.
    bool is_in_order = false;
    std::uint32_t messages = 100;
    std::uint32_t body_bytes_max = 200;
    Duration publish_for{};
    Duration faults_until{};
    std::vector<BoxPlan> boxes{};
    FaultPlan faults{};
    HandlerPlan handlers{};
    OperatorPlan operators{};
    engine::Options engine{};
};

Plan draw_plan(std::uint64_t seed);
/// What an instance of that version is configured with.
engine::Config config_of(const Plan& plan, bool is_new_version);
/// Which of the box's targets such an instance means by its number `local`.
std::uint32_t planned_target(const BoxPlan& box, bool is_new_version, std::uint32_t local);

}  // namespace waybill::sim
