#include "waybill/presets.hpp"

namespace waybill::presets {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWeek = std::chrono::hours{24 * 7};

Backoff five_seconds_doubling() {
    return {.base = 5s, .multiplier = 2.0, .cap = 300s, .jitter = Jitter::symmetric(0.2)};
}

Backoff at_once() {
    return {.base = delay_floor, .multiplier = 1.0, .cap = delay_floor, .jitter = Jitter::none()};
}

}  // namespace

Preset inbox() {
    return {};
}

Preset outbox() {
    return {.box = {.unmatched = Unmatched::done}};
}

Preset inbox_net() {
    return {
        .box = {.lanes = Lanes::exclusive,
                .unmatched = Unmatched::done,
                .dedup_window = kWeek,
                .keep_done = kWeek,
                .keep_dead = kWeek,
                .attempts_log = AttemptsLog::all,
                .concurrency = 10},
        .target = {.retry = {.max_attempts = 5, .backoff = five_seconds_doubling()},
                   .timeout = 5min},
        .arrangement = Preset::Arrangement::chain,
        .after_dead = AfterDead::go_on,
    };
}

Preset outbox_net() {
    return {
        .box = {.lanes = Lanes::exclusive,
                .unmatched = Unmatched::done,
                .keep_done = forever,
                .attempts_log = AttemptsLog::all,
                .concurrency = 40},
        .target = {.retry = {.max_attempts = 6, .backoff = five_seconds_doubling()},
                   .timeout = 30s},
    };
}

Preset vulthil_inbox() {
    return {
        .box = {.lanes = Lanes::strict, .dedup_window = forever, .keep_done = Duration::zero()},
        .target = {.calls = Calls::inline_single},
    };
}

Preset vulthil_outbox() {
    return {
        .box = {.lanes = Lanes::none,
                .unmatched = Unmatched::done,
                .keep_done = forever,
                .concurrency = 10},
        .target = {.retry = {.max_attempts = 3, .backoff = at_once()}},
    };
}

Preset ratatoskr() {
    return {
        .box = {.lanes = Lanes::none, .unmatched = Unmatched::dead, .keep_done = forever},
        // min(2^errors, 300) seconds: 2 s after the first.
        .target = {.retry = {.max_attempts = 5,
                             .backoff = {.base = 2s,
                                         .multiplier = 2.0,
                                         .cap = 300s,
                                         .jitter = Jitter::equal()}},
                   .timeout = 5min},
    };
}

Preset rh_inbox() {
    return {
        .box = {.lanes = Lanes::exclusive,
                .unmatched = Unmatched::dead,
                .keep_done = Duration::zero(),
                .concurrency = 1},
        .target = {.retry = {.max_attempts = 3, .backoff = at_once()}, .timeout = 5min},
    };
}

}  // namespace waybill::presets
