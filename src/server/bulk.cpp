#include "server/bulk.hpp"

#include <algorithm>

#include "core/facade/last_letter.hpp"
#include "waybill/dead_letters.hpp"

namespace waybill::server {
namespace {

constexpr std::uint64_t kBatch = 100;

std::vector<OperationResult> order_all(Catalogue& catalogue, BulkOrder order,
                                       const std::vector<DeliveryRef>& deliveries) {
    return order == BulkOrder::requeue ? catalogue.requeue(deliveries)
                                       : catalogue.discard(deliveries);
}

bool is_still_there(Catalogue& catalogue, const LetterRef& ref, const Uuid& message) {
    const auto detail = catalogue.get(message);
    return detail && std::ranges::any_of(detail->dead, [&](const DeadLetter& letter) {
               return letter.target == ref.target && letter.requeues == ref.requeues;
           });
}

/// `after_crash`: what is gone was carried out before it.
void carry_out_batch(Catalogue& catalogue, BulkOrder order, bool after_crash,
                     BulkProgress& progress) {
    std::vector<DeliveryRef> deliveries;
    for (const LetterRef& ref : progress.batch) {
        const Uuid message = parse_uuid(ref.message).value_or(Uuid{});
        if (after_crash && !is_still_there(catalogue, ref, message)) {
            ++progress.carried_out;
        } else {
            deliveries.push_back({message, ref.target});
        }
    }
    for (const OperationResult& result : order_all(catalogue, order, deliveries)) {
        ++(result.carried_out ? progress.carried_out : progress.refused);
        if (!result.carried_out && progress.refusal.empty()) progress.refusal = result.text;
    }
    progress.batch.clear();
    progress.cursor = progress.after_batch;
}

LetterRef ref_of(const DeadLetter& letter) {
    return {to_string(letter.message), letter.target, letter.requeues};
}

}  // namespace

void carry_out_matching(Catalogue& catalogue, BulkOrder order, const Filter& filter,
                        std::uint32_t letters_max, Operation& operation) {
    BulkProgress& progress = operation.bulk;
    const DeadLetters letters{catalogue};
    if (!progress.counted) {
        // An order over no letters at all: refused if the filter is, and otherwise it counts.
        progress.total = letters.discard_matching(filter, 0).remaining;
        Filter dead = filter;
        dead.state = Filter::State::dead;
        progress.last = detail::last_letter(catalogue, dead, progress.total);
        progress.counted = true;
    }
    const std::uint64_t stop_at = progress.handled() + letters_max;
    if (!progress.batch.empty()) {
        carry_out_batch(catalogue, order, true, progress);
        if (progress.cursor.empty()) return;
    }
    while (progress.handled() < progress.total) {
        if (operation.must_end()) return;
        const std::uint64_t left =
            std::min(progress.total, stop_at) - std::min(progress.handled(), stop_at);
        if (left == 0) {
            operation.unfinished = true;
            return;
        }
        Page<DeadLetterDetail> page = letters.list(
            filter, progress.cursor, static_cast<std::uint32_t>(std::min(left, kBatch)));
        detail::end_at(page, progress.last);
        for (const DeadLetterDetail& item : page.items) {
            progress.batch.push_back(ref_of(item.letter));
        }
        progress.after_batch = page.next;
        operation.save();
        carry_out_batch(catalogue, order, false, progress);
        if (progress.cursor.empty()) return;
    }
}

bool means_what_is_dead(Catalogue& catalogue, const Uuid& message, Operation& operation) {
    std::vector<LetterRef>& meant = operation.bulk.batch;
    if (!meant.empty()) {
        return std::ranges::any_of(
            meant, [&](const LetterRef& ref) { return is_still_there(catalogue, ref, message); });
    }
    if (const auto detail = catalogue.get(message)) {
        for (const DeadLetter& letter : detail->dead) meant.push_back(ref_of(letter));
    }
    operation.save();
    return true;
}

void carry_out_one(Catalogue& catalogue, BulkOrder order, const Uuid& message,
                   const std::string& target, Operation& operation) {
    BulkProgress& progress = operation.bulk;
    const bool after_crash = progress.counted;
    if (!progress.counted) {
        if (const auto detail = catalogue.get(message)) {
            for (const DeadLetter& letter : detail->dead) {
                if (target.empty() || letter.target == target) {
                    progress.batch.push_back(ref_of(letter));
                }
            }
        }
        if (progress.batch.empty()) {
            progress.batch.push_back({to_string(message), target});
            progress.refusal = "no delivery of this message is dead" +
                               (target.empty() ? std::string{} : " for " + target);
        }
        progress.total = progress.batch.size();
        progress.counted = true;
        operation.save();
    }
    carry_out_batch(catalogue, order, after_crash, progress);
}

}  // namespace waybill::server
