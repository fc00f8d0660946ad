#include "simulation/mutation.hpp"

#include <algorithm>
#include <array>

namespace waybill::sim {
namespace {

using M = Mutation;

constexpr std::array kAll{
    MutationInfo{M::page_without_s2, "page_without_s2", "A9 I10",
                 "each page of an increment takes a new snapshot"},
    MutationInfo{M::snapshot_in_writing_transaction, "snapshot_in_writing_transaction", "A9 I10",
                 "a position is taken inside a transaction that writes"},
    MutationInfo{M::cursor_by_sequence, "cursor_by_sequence", "A9 I10",
                 "increments begin after the greatest sequence that was read"},
    MutationInfo{M::complete_through_out_of_order, "complete_through_out_of_order", "A9 I10",
                 "a store that commits out of order says how far it is complete"},
    MutationInfo{M::complete_through_too_far, "complete_through_too_far", "A9 I10 I11",
                 "a store in order says it is complete one row further than it is"},
    MutationInfo{M::read_uncommitted, "read_uncommitted", "I3",
                 "rows are read before their transaction commits"},
    MutationInfo{M::row_id_reuse, "row_id_reuse", "A8",
                 "the sequence of a finished newest row is issued again"},
    MutationInfo{M::due_read_skips_ties, "due_read_skips_ties", "A9 I11",
                 "a due page that ends between equal due times loses the rest"},
    MutationInfo{M::parked_never_return, "parked_never_return", "I11",
                 "parked rows are not read again"},
    MutationInfo{M::scan_forgets_halt, "scan_forgets_halt", "I10",
                 "a halted head is not told to the next owner"},
    MutationInfo{M::no_fence, "no_fence", "I5 I7", "settle does not look at the token"},
    MutationInfo{M::bare_epoch, "bare_epoch", "I5 I7", "the fence compares the epoch alone"},
    MutationInfo{M::fence_without_generation, "fence_without_generation", "I5 I7",
                 "a token of the old timeline passes"},
    MutationInfo{M::fence_without_lock, "fence_without_lock", "I5",
                 "a takeover may commit between a settle's check and its writes"},
    MutationInfo{M::lease_too_short, "lease_too_short", "I5",
                 "an owner is called dead after half its lease"},
    MutationInfo{M::renewal_behind_inline, "renewal_behind_inline", "B3",
                 "renewals wait for inline transactions"},
    MutationInfo{M::takeover_beside_renewal, "takeover_beside_renewal", "I5",
                 "a late renewal and a takeover both succeed"},
    MutationInfo{M::renewal_by_name, "renewal_by_name", "I11",
                 "a restarted instance keeps the lease of its former life alive"},
    MutationInfo{M::registry_unchecked, "registry_unchecked", "I2",
                 "a settle that knows an older registry is applied"},
    MutationInfo{M::ack_before_commit, "ack_before_commit", "I1",
                 "an append is answered before it commits"},
    MutationInfo{M::rollback_leaves_rows, "rollback_leaves_rows", "I3",
                 "a rolled back message stays"},
    MutationInfo{M::dedup_without_scope, "dedup_without_scope", "I4",
                 "dedup keys of tenants collide"},
    MutationInfo{M::dedup_expires_early, "dedup_expires_early", "I4",
                 "a dedup key is forgotten early"},
    MutationInfo{M::duplicate_of_uncommitted, "duplicate_of_uncommitted", "I1b",
                 "Duplicate is answered for a first one that may roll back"},
    MutationInfo{M::inline_marker_outside, "inline_marker_outside", "I7",
                 "the success mark is not in the transaction of the effects"},
    MutationInfo{M::inline_without_fence, "inline_without_fence", "I7",
                 "inline commits ignore the token"},
    MutationInfo{M::requeue_loses, "requeue_loses", "I2",
                 "requeue deletes the dead letter and appends nothing"},
    MutationInfo{M::dead_letters_dropped, "dead_letters_dropped", "I2",
                 "dead letters are not written"},
    MutationInfo{M::open_work_expires, "open_work_expires", "I2", "open work has a time to live"},
    MutationInfo{M::crash_counts_as_failure, "crash_counts_as_failure", "I9",
                 "a takeover spends the retry budget"},
    MutationInfo{M::crash_blames_all, "crash_blames_all", "C1",
                 "everything open in a dead owner's partition gets a strike"},
    MutationInfo{M::bad_text_is_retried, "bad_text_is_retried", "I11",
                 "a text that cannot be stored is answered as a passing error"},
    MutationInfo{M::unknown_append_is_success, "unknown_append_is_success", "I12",
                 "a lost COMMIT answer is taken for success"},
    MutationInfo{M::old_read_after_settle, "old_read_after_settle", "I6 I9",
                 "the result of a read arrives after a later settle"},
    MutationInfo{M::lane_from_fast_path, "lane_from_fast_path", "I10",
                 "a handed-over message with a lane starts at once"},
    MutationInfo{M::late_hand_over, "late_hand_over", "I6",
                 "a hand-over is accepted although a read went out since"},
    MutationInfo{M::known_by_half, "known_by_half", "A9 I11",
                 "a transaction is known once one of its rows was handed over"},
    MutationInfo{M::position_at_end_of_scan, "position_at_end_of_scan", "A9 I10",
                 "increments begin where the takeover scan ended"},
    MutationInfo{M::take_and_scan_in_one, "take_and_scan_in_one", "I6 I9",
                 "takeover and first scan are one statement"},
    MutationInfo{M::generation_hidden, "generation_hidden", "A9 I10 I11",
                 "nobody notices a failover"},
    MutationInfo{M::release_while_running, "release_while_running", "B7",
                 "a partition is given back while a handler runs in it"},
    MutationInfo{M::late_outcome_dropped, "late_outcome_dropped", "I11",
                 "outcomes that arrive after a pause are dropped"},
    MutationInfo{M::failed_settle_is_success, "failed_settle_is_success", "A9 C2 I10 I11",
                 "a settle that failed counts as written"},
    MutationInfo{M::unknown_settle_is_success, "unknown_settle_is_success", "A9 C2 I10 I11",
                 "a settle whose answer was lost counts as written"},
    MutationInfo{M::hint_only_wake, "hint_only_wake", "A9 I11", "nothing is read without a hint"},
    MutationInfo{M::old_lane_read, "old_lane_read", "A9 I10 I11",
                 "a spilled lane is read with an old snapshot"},
    MutationInfo{M::wrong_store_clock, "wrong_store_clock", "D10",
                 "the application's clock decides due times"},
    MutationInfo{M::guest_is_counted, "guest_is_counted", "B9",
                 "a run-once host takes part in balancing"},
    MutationInfo{M::strict_as_exclusive, "strict_as_exclusive", "I10",
                 "back-off does not hold a strict lane"},
    MutationInfo{M::lanes_ignored, "lanes_ignored", "I10", "lanes are not looked at"},
    MutationInfo{M::concurrency_ignored, "concurrency_ignored", "L1",
                 "a box or target runs more at once than it may"},
    MutationInfo{M::rate_ignored, "rate_ignored", "L2",
                 "a target starts more a second than it may"},
    MutationInfo{M::forget_unheard, "forget_unheard", "I11",
                 "a target is forgotten, and its owners are not told"},
    MutationInfo{M::pause_ignored, "pause_ignored", "L3", "a paused box goes on"},
    MutationInfo{M::halt_as_advance, "halt_as_advance", "I10", "a halted lane goes on"},
    MutationInfo{M::chain_ignored, "chain_ignored", "C2",
                 "a successor does not wait for its predecessor"},
    MutationInfo{M::dies_one_early, "dies_one_early", "I9", "the last attempt is never made"},
    MutationInfo{M::done_before_handler, "done_before_handler", "I2 I8",
                 "a delivery is done when it starts, whatever becomes of it"},
};

}  // namespace

std::span<const MutationInfo> all_mutations() {
    return kAll;
}

const MutationInfo* find_mutation(std::string_view name) {
    for (const MutationInfo& info : kAll) {
        if (info.name == name) return &info;
    }
    return nullptr;
}

bool breaks(const MutationInfo& info, std::string_view rule) {
    std::string_view rest = info.rules;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        if (rest.substr(0, end) == rule) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

}  // namespace waybill::sim
