#include "simulation/plan.hpp"

namespace waybill::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

double rate(Dice& dice, double on, double low, double high) {
    const double value = low + (high - low) * dice.unit() * dice.unit();
    return dice.chance(on) ? value : 0.0;
}

std::string letter(std::size_t i) {
    return std::string(1, static_cast<char>('a' + i));
}

TargetOptions draw_target_options(Dice& dice) {
    TargetOptions options;
    options.retry.max_attempts = static_cast<std::uint32_t>(dice.between(1, 5));
    options.retry.backoff = {.base = dice.skewed(milliseconds{10}, seconds{2}),
                             .multiplier = 1.0 + dice.unit() * 2.0,
                             .cap = dice.between(seconds{2}, seconds{8}),
                             .jitter = dice.chance(0.5) ? Jitter::symmetric(0.2) : Jitter::equal()};
    options.timeout = dice.between(milliseconds{200}, seconds{3});
    if (dice.chance(0.2)) options.concurrency = static_cast<std::uint32_t>(dice.between(4, 12));
    if (dice.chance(0.1)) options.rate = static_cast<double>(dice.between(5, 50));
    if (dice.chance(0.2)) {
        options.calls = Calls::batch;
        options.batch_max = static_cast<std::uint32_t>(dice.between(1, 12));
    } else if (dice.chance(0.2)) {
        options.calls = Calls::inline_single;
    }
    // Not drawn, so that the other draws of a seed stay what they were.
    options.ends_by_itself = options.retry.max_attempts % 2 == 0;
    return options;
}

void draw_targets(Dice& dice, BoxPlan& box, bool is_rolling) {
    const std::size_t count = dice.chance(0.5) ? 1 : static_cast<std::size_t>(dice.between(1, 4));
    for (std::size_t i = 0; i < count; ++i) {
        TargetPlan plan{.options = draw_target_options(dice)};
        plan.target = {.box = box.name, .key = "t" + letter(i)};
        if (dice.chance(0.3)) plan.target.matcher.type = dice.pick(box.types);
        if (dice.chance(0.1)) plan.target.matcher.tenant = dice.pick(box.tenants);
        if (i > 0 && dice.chance(0.5)) {
            plan.target.after = box.targets[dice.index(i)].target.key;
            plan.target.after_dead = dice.chance(0.5) ? AfterDead::block : AfterDead::go_on;
        }
        if (dice.chance(0.1)) plan.target.legacy_keys = {"old-" + plan.target.key};
        box.targets.push_back(std::move(plan));
    }
    if (!is_rolling) return;
    TargetPlan late{.options = draw_target_options(dice), .is_late = true};
    late.target = {.box = box.name, .key = "late"};
    if (dice.chance(0.3)) late.target.after = box.targets.back().target.key;
    box.targets.push_back(std::move(late));
    // Some messages have no target at all until the new version comes.
    if (dice.chance(0.5)) box.targets.front().target.matcher.type = box.types.front();
}

BoxPlan draw_box(Dice& dice, std::size_t index, bool is_rolling) {
    BoxPlan box{.name = "box-" + letter(index)};
    const double kind = dice.unit();
    box.options.lanes = kind < 0.6 ? Lanes::strict : kind < 0.8 ? Lanes::exclusive : Lanes::none;
    box.options.on_dead =
        box.options.lanes == Lanes::strict && dice.chance(0.35) ? OnDead::halt : OnDead::advance;
    const double unmatched = dice.unit();
    box.options.unmatched = unmatched < 0.6   ? Unmatched::park
                            : unmatched < 0.8 ? Unmatched::done
                                              : Unmatched::dead;
    box.options.partitions = static_cast<std::uint32_t>(dice.between(1, 8));
    box.options.keep_done = dice.chance(0.3) ? Duration{} : Duration{std::chrono::hours{1}};
    box.options.concurrency = static_cast<std::uint32_t>(dice.between(1, 32));
    box.options.dedup_window = dice.chance(0.5) ? forever : Duration{seconds{20}};
    box.options.attempts_log = dice.chance(0.3) ? AttemptsLog::all : AttemptsLog::failures;
    const std::int64_t lanes = dice.chance(0.5) ? dice.between(1, 5) : dice.between(6, 50);
    for (std::int64_t i = 0; i < lanes; ++i) box.lanes.push_back("lane-" + std::to_string(i));
    box.types = {"order.placed", "order.paid", "user.left"};
    box.tenants = {"red", "blue"};
    box.laned = dice.chance(0.5) ? 1.0 : dice.unit();
    box.keyed = rate(dice, 0.4, 0.1, 0.9);
    box.collapsing = rate(dice, 0.3, 0.1, 0.9);
    box.scheduled = rate(dice, 0.4, 0.05, 0.5);
    draw_targets(dice, box, is_rolling);
    return box;
}

/// A target that the new version does without.
void retire_targets(std::uint64_t seed, Plan& plan) {
    Dice dice{seed, 11};
    for (BoxPlan& box : plan.boxes) {
        if (dice.chance(0.5)) continue;
        TargetPlan retired{.options = draw_target_options(dice), .is_retired = true};
        retired.target = {.box = box.name, .key = "retired"};
        if (dice.chance(0.3)) retired.target.matcher.type = dice.pick(box.types);
        box.targets.push_back(std::move(retired));
    }
}

FaultPlan draw_faults(Dice& dice) {
    FaultPlan faults;
    faults.error_before = rate(dice, 0.5, 0.002, 0.1);
    faults.error_after = rate(dice, 0.5, 0.002, 0.1);
    faults.stall = rate(dice, 0.4, 0.001, 0.02);
    faults.lost_hint = dice.chance(0.3) ? 1.0 : rate(dice, 0.5, 0.1, 0.9);
    faults.slow_take = rate(dice, 0.5, 0.1, 0.6);
    faults.slow_settle = rate(dice, 0.4, 0.005, 0.1);
    faults.crash = rate(dice, 0.5, 0.01, 0.15);
    faults.pause = rate(dice, 0.5, 0.01, 0.15);
    faults.restart = rate(dice, 0.4, 0.01, 0.1);
    faults.outage = rate(dice, 0.2, 0.01, 0.05);
    faults.failover = rate(dice, 0.3, 0.02, 0.12);
    faults.clock_step = rate(dice, 0.15, 0.01, 0.06);
    faults.rollback = rate(dice, 0.5, 0.05, 0.4);
    faults.long_transaction = rate(dice, 0.6, 0.1, 0.6);
    return faults;
}

HandlerPlan draw_handlers(Dice& dice) {
    HandlerPlan handlers;
    handlers.fails = rate(dice, 0.6, 0.05, 0.5);
    handlers.permanent = rate(dice, 0.4, 0.01, 0.15);
    handlers.defers = rate(dice, 0.3, 0.02, 0.2);
    handlers.hangs = rate(dice, 0.3, 0.01, 0.1);
    handlers.hangs_for_ever = rate(dice, 0.15, 0.005, 0.03);
    handlers.is_slow = rate(dice, 0.5, 0.05, 0.3);
    handlers.crashes_once = rate(dice, 0.2, 0.005, 0.03);
    handlers.bad_text = rate(dice, 0.2, 0.02, 0.3);
    handlers.partial = rate(dice, 0.5, 0.05, 0.4);
    handlers.poisons = dice.chance(0.12) ? static_cast<std::uint32_t>(dice.between(1, 2)) : 0;
    return handlers;
}

engine::Options draw_engine(Dice& dice) {
    engine::Options options;
    if (dice.chance(0.3)) {
        options.lease = seconds{2};
        options.beat = milliseconds{400};
    }
    options.poll_active = dice.between(milliseconds{20}, milliseconds{120});
    options.poll_idle = dice.between(milliseconds{300}, seconds{1});
    options.shutdown_timeout = dice.between(seconds{2}, seconds{10});
    options.reconcile = dice.between(seconds{3}, seconds{30});
    options.abandoned_max = static_cast<std::uint32_t>(dice.between(2, 8));
    if (dice.chance(0.5)) options.page_rows = static_cast<std::uint32_t>(dice.between(1, 20));
    if (dice.chance(0.2)) options.page_bytes = static_cast<std::uint64_t>(dice.between(300, 4000));
    if (dice.chance(0.3)) options.settle_rows = static_cast<std::uint32_t>(dice.between(1, 20));
    if (dice.chance(0.3)) {
        options.settle_halves_from = static_cast<std::uint32_t>(dice.between(2, 6));
        options.settle_halves_quick = seconds{1};  // no call of the simulated store is
    }
    if (dice.chance(0.5)) options.lane_rows = static_cast<std::uint32_t>(dice.between(1, 6));
    if (dice.chance(0.4)) {
        options.window_bytes = static_cast<std::uint64_t>(dice.between(64 << 10, 128 << 10));
    }
    if (dice.chance(0.5)) options.due_ahead = dice.between(milliseconds{200}, seconds{5});
    return options;
}

/// Owners that stop and come back around the end of a short lease, with calls still on their way.
void sharpen_fencing(Plan& plan) {
    plan.engine.lease = seconds{2};
    plan.engine.beat = milliseconds{400};
    plan.faults.pause = 0.3;
    plan.faults.slow_settle = 0.5;
    plan.faults.slow_take = 0.5;
    plan.faults.frozen_lock = 0.7;
    plan.handlers.is_slow = 0.3;
}

/// Late committers.
void sharpen_order(Dice& dice, Plan& plan) {
    // Many at once, so that an increment has many pages while transactions commit between them.
    plan.publish_for = seconds{3};
    plan.faults.long_transaction = 0.8;
    plan.faults.lost_hint = 1.0;
    plan.engine.page_rows = static_cast<std::uint32_t>(dice.between(1, 4));
    plan.engine.increment_rows = plan.engine.page_rows;
}

void sharpen_schedules(Dice& dice, Plan& plan) {
    for (BoxPlan& box : plan.boxes) box.scheduled = 0.8;
    plan.engine.page_rows = static_cast<std::uint32_t>(dice.between(1, 4));
    plan.engine.due_ahead = dice.between(milliseconds{200}, seconds{1});
}

void sharpen_halts(Plan& plan) {
    for (BoxPlan& box : plan.boxes) {
        box.options.lanes = Lanes::strict;
        box.options.on_dead = OnDead::halt;
    }
    plan.handlers.permanent = 0.15;
    plan.faults.crash = 0.15;
    plan.operators.requeue = 1.0;
    plan.operators.skip = 0.5;
}

/// Two seeds of five look at one kind of trouble from close by.
void sharpen(Dice& dice, Plan& plan) {
    switch (dice.between(0, 19)) {
        case 0:
        case 1: sharpen_fencing(plan); break;
        case 2:
            sharpen_fencing(plan);
            for (BoxPlan& box : plan.boxes) {
                for (TargetPlan& target : box.targets) target.options.calls = Calls::inline_single;
            }
            break;
        case 3:
            plan.faults.failover = 0.3;
            plan.faults.slow_settle = 0.4;
            plan.faults.slow_take = 0.4;
            break;
        case 4:
        case 5: sharpen_order(dice, plan); break;
        case 6: sharpen_schedules(dice, plan); break;
        case 7: sharpen_halts(plan); break;
        default: break;
    }
}

}  // namespace

Plan draw_plan(std::uint64_t seed) {
    Dice dice{seed, 1};
    Plan plan{.seed = seed};
    plan.instances = static_cast<std::uint32_t>(dice.between(2, 5));
    plan.has_guest = dice.chance(0.2);
    plan.is_rolling = dice.chance(0.3);
    plan.messages = static_cast<std::uint32_t>(dice.chance(0.7) ? dice.between(20, 120)
                                                                : dice.between(120, 400));
    plan.publish_for = dice.between(seconds{3}, seconds{25});
    plan.faults_until = dice.between(seconds{8}, seconds{40});
    const std::int64_t boxes = dice.chance(0.6) ? 1 : dice.between(1, 3);
    for (std::int64_t i = 0; i < boxes; ++i) {
        plan.boxes.push_back(draw_box(dice, static_cast<std::size_t>(i), plan.is_rolling));
    }
    plan.faults = draw_faults(dice);
    plan.handlers = draw_handlers(dice);
    plan.operators = {.requeue = rate(dice, 0.4, 0.1, 2.0),
                      .discard = rate(dice, 0.2, 0.05, 0.5),
                      .cancel = rate(dice, 0.3, 0.05, 0.5),
                      .skip = rate(dice, 0.4, 0.05, 1.0),
                      .pause = rate(dice, 0.2, 0.02, 0.1)};
    plan.engine = draw_engine(dice);
    // The first page of an increment is as large as the others, or up to four times as large.
    plan.engine.increment_rows =
        plan.engine.page_rows * static_cast<std::uint32_t>(1 + seed / 20 % 4);
    plan.is_in_order = seed % 4 == 3;
    if (plan.is_rolling) retire_targets(seed, plan);
    Dice sharp{seed, 9};
    sharpen(sharp, plan);
    // Bodies that make the window too small for what is open.
    const bool is_tight = plan.engine.window_bytes <= 128 << 10;
    plan.body_bytes_max = static_cast<std::uint32_t>(dice.between(1, is_tight ? 6000 : 200));
    return plan;
}

namespace {

bool has_target(const TargetPlan& target, bool is_new_version) {
    return is_new_version ? !target.is_retired : !target.is_late;
}

}  // namespace

std::uint32_t planned_target(const BoxPlan& box, bool is_new_version, std::uint32_t local) {
    std::uint32_t index = 0;
    while (!has_target(box.targets[index], is_new_version) || local-- > 0) ++index;
    return index;
}

engine::Config config_of(const Plan& plan, bool is_new_version) {
    engine::Config config{.options = plan.engine};
    for (const BoxPlan& box : plan.boxes) {
        engine::LocalBox local{.name = box.name, .options = box.options};
        for (const TargetPlan& target : box.targets) {
            if (has_target(target, is_new_version)) {
                local.targets.push_back({.target = target.target, .options = target.options});
            }
        }
        config.boxes.push_back(std::move(local));
    }
    return config;
}

}  // namespace waybill::sim
