#include "waybill/target.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "core/wording.hpp"
#include "waybill/box.hpp"

namespace waybill {
namespace {

using detail::grouped;
using detail::in_quotes;
using detail::readable;

constexpr std::size_t kKeyBytesMax = 200;
constexpr std::size_t kPatternBytesMax = 256;
constexpr std::size_t kLegacyKeysMax = 32;
constexpr std::uint32_t kAttemptsMax = 1'000;
constexpr std::uint32_t kTargetConcurrencyMax = 100'000;
constexpr std::uint32_t kBatchMax = 10'000;
constexpr double kRateMin = 0.001;
constexpr double kRateMax = 1'000'000.0;
constexpr double kMultiplierMax = 100.0;
constexpr std::size_t kScheduleMax = 1'000;
constexpr Duration kTimeoutMin = std::chrono::milliseconds{1};
constexpr Duration kTimeoutMax = std::chrono::hours{24};
constexpr Duration kDelayMax = std::chrono::hours{24 * 30};

/// Comparisons are written so that what is not a number is never inside.
bool is_within(double value, double least, double most) {
    return value >= least && value <= most;
}

void check_key(const std::string& field, const std::string& key, Problems& problems) {
    if (key.empty() || key.size() > kKeyBytesMax) {
        problems.push_back(field + " has " + grouped(key.size()) + " bytes; it must have 1 … " +
                           grouped(kKeyBytesMax));
    }
    if (!is_plain_text(key)) {
        problems.push_back(field + " must be UTF-8 without control characters");
    }
}

void check_pattern(const std::string& field, const std::string& pattern, Problems& problems) {
    if (pattern.size() > kPatternBytesMax) {
        problems.push_back(field + " has " + grouped(pattern.size()) + " bytes; at most " +
                           grouped(kPatternBytesMax) + " are allowed");
    }
    if (!is_storable_text(pattern)) {
        problems.push_back(field + " must be UTF-8 without NUL");
    }
}

void check_legacy_keys(const Target& target, Problems& problems) {
    if (target.legacy_keys.size() > kLegacyKeysMax) {
        problems.push_back("legacy_keys has " + grouped(target.legacy_keys.size()) +
                           " entries; at most " + grouped(kLegacyKeysMax) + " are allowed");
    }
    for (const std::string& key : target.legacy_keys) {
        check_key("legacy key " + in_quotes(key), key, problems);
    }
}

void check_identity(const Target& target, Problems& problems) {
    if (!is_box_name(target.box)) {
        problems.push_back("its box " + in_quotes(target.box) +
                           " must be named with 1 … 128 of A-Z a-z 0-9 _ . -");
    }
    check_key("key", target.key, problems);
    check_legacy_keys(target, problems);
    if (!target.after.empty()) check_key("after", target.after, problems);

    check_pattern("matcher.type", target.matcher.type, problems);
    check_pattern("matcher.source", target.matcher.source, problems);
    check_pattern("matcher.tenant", target.matcher.tenant, problems);
    if (target.matcher.type.empty()) {
        problems.push_back(
            "matcher.type is empty and would match nothing, as every message has a type; use \"*\" "
            "for all");
    }
}

void check_delay(const std::string& field, Duration delay, Problems& problems) {
    if (delay < Duration::zero() || delay > kDelayMax) {
        problems.push_back(field + " is " + readable(delay) + "; it must be 0 s … " +
                           readable(kDelayMax));
    }
}

void check_growth(const Backoff& backoff, Problems& problems) {
    check_delay("retry.backoff.base", backoff.base, problems);
    check_delay("retry.backoff.cap", backoff.cap, problems);
    if (backoff.cap < backoff.base) {
        problems.push_back("retry.backoff.cap is " + readable(backoff.cap) +
                           "; it must not be shorter than base, which is " +
                           readable(backoff.base));
    }
    if (!is_within(backoff.multiplier, 1.0, kMultiplierMax)) {
        problems.push_back("retry.backoff.multiplier is " + std::to_string(backoff.multiplier) +
                           "; it must be 1 … 100");
    }
}

void check_schedule(const std::vector<Duration>& schedule, Problems& problems) {
    if (schedule.size() > kScheduleMax) {
        problems.push_back("retry.backoff.schedule has " + grouped(schedule.size()) +
                           " entries; at most " + grouped(kScheduleMax) + " are allowed");
    }
    for (std::size_t i = 0; i < std::min(schedule.size(), kScheduleMax); ++i) {
        check_delay("retry.backoff.schedule[" + std::to_string(i) + "]", schedule[i], problems);
    }
}

void check_retry(const RetryPolicy& retry, Problems& problems) {
    if (retry.max_attempts < 1 || retry.max_attempts > kAttemptsMax) {
        problems.push_back("retry.max_attempts is " + grouped(retry.max_attempts) +
                           "; it must be 1 … " + grouped(kAttemptsMax) + ", the first included");
    }
    if (retry.backoff.schedule.empty()) {
        check_growth(retry.backoff, problems);
    } else {
        check_schedule(retry.backoff.schedule, problems);
    }
    if (!is_within(retry.backoff.jitter.share, 0.0, 1.0)) {
        problems.push_back("retry.backoff.jitter.share is " +
                           std::to_string(retry.backoff.jitter.share) + "; it must be 0 … 1");
    }
}

void check_running(const TargetOptions& options, Problems& problems) {
    if (options.timeout < kTimeoutMin || options.timeout > kTimeoutMax) {
        problems.push_back("timeout is " + readable(options.timeout) + "; it must be " +
                           readable(kTimeoutMin) + " … " + readable(kTimeoutMax));
    }
    if (options.concurrency > kTargetConcurrencyMax) {
        problems.push_back("concurrency is " + grouped(options.concurrency) + "; it must be 0 … " +
                           grouped(kTargetConcurrencyMax) + " (0: only the box's limit)");
    }
    if (options.rate != 0.0 && !is_within(options.rate, kRateMin, kRateMax)) {
        problems.push_back("rate is " + std::to_string(options.rate) +
                           " per second; it must be 0 (no limit) or 0.001 … 1,000,000");
    }
    if (options.batch_max < 1 || options.batch_max > kBatchMax) {
        problems.push_back("batch_max is " + grouped(options.batch_max) + "; it must be 1 … " +
                           grouped(kBatchMax));
    }
}

}  // namespace

Problems check(const Target& target, const TargetOptions& options) {
    Problems problems;
    check_identity(target, problems);
    check_retry(options.retry, problems);
    check_running(options, problems);
    for (std::string& problem : problems) {
        problem = "target " + in_quotes(target.key) + ": " + problem;
    }
    return problems;
}

}  // namespace waybill
