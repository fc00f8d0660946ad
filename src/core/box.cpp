#include "waybill/box.hpp"

#include <algorithm>

#include "core/wording.hpp"

namespace waybill {
namespace {

using detail::grouped;
using detail::in_quotes;
using detail::readable;

constexpr std::size_t kNameBytesMax = 128;
constexpr std::uint32_t kConcurrencyMax = 100'000;
constexpr std::uint32_t kPartitionsMax = 1'024;
constexpr std::uint64_t kBodyBytesMax = 256ULL << 20;

bool is_name_character(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

Problems check_retention(const BoxOptions& options) {
    Problems problems;
    if (options.dedup_window <= Duration::zero()) {
        problems.push_back("dedup_window is " + readable(options.dedup_window) +
                           "; it must be more than zero, or forever");
    }
    if (options.keep_done < Duration::zero()) {
        problems.push_back("keep_done is " + readable(options.keep_done) +
                           "; it must not be negative (0 s: deleted when done)");
    }
    if (options.keep_dead < Duration::zero()) {
        problems.push_back("keep_dead is " + readable(options.keep_dead) +
                           "; it must not be negative (0 s: what dies is dropped)");
    }
    if (options.keep_attempts < Duration::zero()) {
        problems.push_back("keep_attempts is " + readable(options.keep_attempts) +
                           "; it must not be negative (attempts_log = none logs nothing)");
    }
    return problems;
}

Problems check_halt(const BoxOptions& options) {
    Problems problems;
    if (options.on_dead != OnDead::halt) return problems;
    if (options.lanes != Lanes::strict) {
        problems.push_back(
            "on_dead = halt stops a strict lane; set lanes = strict or on_dead = advance");
    }
    if (options.keep_dead == Duration::zero()) {
        problems.push_back(
            "on_dead = halt waits for someone to look at the dead letter, which keep_dead = 0 s "
            "drops; set keep_dead = forever or on_dead = advance");
    }
    return problems;
}

Problems check_sizes(const BoxOptions& options) {
    Problems problems;
    if (options.concurrency > kConcurrencyMax) {
        problems.push_back("concurrency is " + grouped(options.concurrency) + "; it must be 0 … " +
                           grouped(kConcurrencyMax));
    }
    if (options.partitions > kPartitionsMax) {
        problems.push_back("partitions is " + grouped(options.partitions) + "; it must be 0 … " +
                           grouped(kPartitionsMax));
    }
    if (options.body_bytes_max < 1 || options.body_bytes_max > kBodyBytesMax) {
        problems.push_back("body_bytes_max is " + grouped(options.body_bytes_max) +
                           "; it must be 1 … " + grouped(kBodyBytesMax) + " (256 MiB)");
    }
    return problems;
}

}  // namespace

bool is_box_name(std::string_view name) {
    return !name.empty() && name.size() <= kNameBytesMax &&
           std::all_of(name.begin(), name.end(), is_name_character);
}

Problems check(std::string_view name, const BoxOptions& options) {
    Problems found;
    if (!is_box_name(name)) {
        found.push_back("the name must be 1 … 128 of A-Z a-z 0-9 _ . -");
    }
    for (const auto& part : {check_sizes(options), check_retention(options), check_halt(options)}) {
        found.insert(found.end(), part.begin(), part.end());
    }
    for (std::string& problem : found) {
        problem = "box " + in_quotes(name) + ": " + problem;
    }
    return found;
}

}  // namespace waybill
