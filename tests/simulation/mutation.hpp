#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// Bugs planted on purpose, one at a time, to see that the checker notices. Those of the store live in
/// the simulated store, those of the engine in the shell around it (mutant.hpp): production code has no
/// switch for any of them.
namespace waybill::sim {

enum class Mutation : std::uint8_t {
    none,
    // the store reads wrongly
    page_without_s2,
    snapshot_in_writing_transaction,
    cursor_by_sequence,
    complete_through_out_of_order,
    complete_through_too_far,
    read_uncommitted,
    row_id_reuse,
    due_read_skips_ties,
    parked_never_return,
    scan_forgets_halt,
    // the store fences or owns wrongly
    no_fence,
    bare_epoch,
    fence_without_generation,
    fence_without_lock,
    lease_too_short,
    renewal_behind_inline,
    takeover_beside_renewal,
    renewal_by_name,
    registry_unchecked,
    // the store writes wrongly
    ack_before_commit,
    rollback_leaves_rows,
    dedup_without_scope,
    dedup_expires_early,
    duplicate_of_uncommitted,
    inline_marker_outside,
    inline_without_fence,
    requeue_loses,
    dead_letters_dropped,
    open_work_expires,
    crash_counts_as_failure,
    crash_blames_all,
    bad_text_is_retried,
    // the caller
    unknown_append_is_success,
    // the engine, through its shell
    old_read_after_settle,
    lane_from_fast_path,
    late_hand_over,
    known_by_half,
    position_at_end_of_scan,
    take_and_scan_in_one,
    generation_hidden,
    release_while_running,
    late_outcome_dropped,
    failed_settle_is_success,
    unknown_settle_is_success,
    hint_only_wake,
    old_lane_read,
    wrong_store_clock,
    guest_is_counted,
    strict_as_exclusive,
    lanes_ignored,
    halt_as_advance,
    concurrency_ignored,
    rate_ignored,
    pause_ignored,
    forget_unheard,
    chain_ignored,
    dies_one_early,
    done_before_handler,
};

struct MutationInfo {
    Mutation mutation = Mutation::none;
    std::string_view name{};
    /// What it breaks, by the names the checker gives: "I6 I10". Another rule does not catch it.
    std::string_view rules{};
    std::string_view bug{};
};

std::span<const MutationInfo> all_mutations();
/// Nothing: there is none of that name.
const MutationInfo* find_mutation(std::string_view name);
bool breaks(const MutationInfo& info, std::string_view rule);

}  // namespace waybill::sim
