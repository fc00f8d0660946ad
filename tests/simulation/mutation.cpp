#include "simulation/mutation.hpp"

#include <array>

namespace waybill::sim {
namespace {

using M = Mutation;

constexpr std::array kAll{
    MutationInfo{M::page_without_s2, "page_without_s2",
                 "each page of an increment takes a new snapshot"},
    MutationInfo{M::snapshot_in_writing_transaction, "snapshot_in_writing_transaction",
                 "a position is taken inside a transaction that writes"},
    MutationInfo{M::read_uncommitted, "read_uncommitted",
                 "rows are read before their transaction commits"},
    MutationInfo{M::row_id_reuse, "row_id_reuse",
                 "the sequence of a finished newest row is issued again"},
    MutationInfo{M::due_read_skips_ties, "due_read_skips_ties",
                 "a due page that ends between equal due times loses the rest"},
    MutationInfo{M::parked_never_return, "parked_never_return", "parked rows are not read again"},
    MutationInfo{M::scan_forgets_halt, "scan_forgets_halt",
                 "a halted head is not told to the next owner"},
    MutationInfo{M::no_fence, "no_fence", "settle does not look at the token"},
    MutationInfo{M::bare_epoch, "bare_epoch", "the fence compares the epoch alone"},
    MutationInfo{M::fence_without_generation, "fence_without_generation",
                 "a token of the old timeline passes"},
    MutationInfo{M::fence_without_lock, "fence_without_lock",
                 "a takeover may commit between a settle's check and its writes"},
    MutationInfo{M::lease_too_short, "lease_too_short",
                 "an owner is called dead after half its lease"},
    MutationInfo{M::renewal_behind_inline, "renewal_behind_inline",
                 "renewals wait for inline transactions"},
    MutationInfo{M::takeover_beside_renewal, "takeover_beside_renewal",
                 "a late renewal and a takeover both succeed"},
    MutationInfo{M::registry_unchecked, "registry_unchecked",
                 "a settle that knows an older registry is applied"},
    MutationInfo{M::ack_before_commit, "ack_before_commit",
                 "an append is answered before it commits"},
    MutationInfo{M::rollback_leaves_rows, "rollback_leaves_rows", "a rolled back message stays"},
    MutationInfo{M::dedup_without_scope, "dedup_without_scope", "dedup keys of tenants collide"},
    MutationInfo{M::dedup_expires_early, "dedup_expires_early", "a dedup key is forgotten early"},
    MutationInfo{M::duplicate_of_uncommitted, "duplicate_of_uncommitted",
                 "Duplicate is answered for a first one that may roll back"},
    MutationInfo{M::inline_marker_outside, "inline_marker_outside",
                 "the success mark is not in the transaction of the effects"},
    MutationInfo{M::inline_without_fence, "inline_without_fence",
                 "inline commits ignore the token"},
    MutationInfo{M::requeue_loses, "requeue_loses",
                 "requeue deletes the dead letter and appends nothing"},
    MutationInfo{M::dead_letters_dropped, "dead_letters_dropped", "dead letters are not written"},
    MutationInfo{M::open_work_expires, "open_work_expires", "open work has a time to live"},
    MutationInfo{M::crash_counts_as_failure, "crash_counts_as_failure",
                 "a takeover spends the retry budget"},
    MutationInfo{M::crash_blames_all, "crash_blames_all",
                 "everything open in a dead owner's partition gets a strike"},
    MutationInfo{M::bad_text_is_retried, "bad_text_is_retried",
                 "a text that cannot be stored is answered as a passing error"},
    MutationInfo{M::unknown_append_is_success, "unknown_append_is_success",
                 "a lost COMMIT answer is taken for success"},
    MutationInfo{M::old_read_after_settle, "old_read_after_settle",
                 "the result of a read arrives after a later settle"},
    MutationInfo{M::lane_from_fast_path, "lane_from_fast_path",
                 "a handed-over message with a lane starts at once"},
    MutationInfo{M::late_hand_over, "late_hand_over",
                 "a hand-over is accepted although a read went out since"},
    MutationInfo{M::position_at_end_of_scan, "position_at_end_of_scan",
                 "increments begin where the takeover scan ended"},
    MutationInfo{M::take_and_scan_in_one, "take_and_scan_in_one",
                 "takeover and first scan are one statement"},
    MutationInfo{M::generation_hidden, "generation_hidden", "nobody notices a failover"},
    MutationInfo{M::release_while_running, "release_while_running",
                 "a partition is given back while a handler runs in it"},
    MutationInfo{M::late_outcome_dropped, "late_outcome_dropped",
                 "outcomes that arrive after a pause are dropped"},
    MutationInfo{M::failed_settle_is_success, "failed_settle_is_success",
                 "a settle that failed counts as written"},
    MutationInfo{M::unknown_settle_is_success, "unknown_settle_is_success",
                 "a settle whose answer was lost counts as written"},
    MutationInfo{M::hint_only_wake, "hint_only_wake", "nothing is read without a hint"},
    MutationInfo{M::old_lane_read, "old_lane_read", "a spilled lane is read with an old snapshot"},
    MutationInfo{M::wrong_store_clock, "wrong_store_clock",
                 "the application's clock decides due times"},
    MutationInfo{M::guest_is_counted, "guest_is_counted",
                 "a run-once host takes part in balancing"},
    MutationInfo{M::strict_as_exclusive, "strict_as_exclusive",
                 "back-off does not hold a strict lane"},
    MutationInfo{M::lanes_ignored, "lanes_ignored", "lanes are not looked at"},
    MutationInfo{M::halt_as_advance, "halt_as_advance", "a halted lane goes on"},
    MutationInfo{M::chain_ignored, "chain_ignored",
                 "a successor does not wait for its predecessor"},
    MutationInfo{M::dies_one_early, "dies_one_early", "the last attempt is never made"},
    MutationInfo{M::done_before_handler, "done_before_handler",
                 "a delivery is done when it starts, whatever becomes of it"},
};

}  // namespace

std::span<const MutationInfo> all_mutations() {
    return kAll;
}

std::optional<Mutation> find_mutation(std::string_view name) {
    for (const MutationInfo& info : kAll) {
        if (info.name == name) return info.mutation;
    }
    return std::nullopt;
}

}  // namespace waybill::sim
