#include "waybill/dead_letters.hpp"

#include <algorithm>

#include "core/facade/last_letter.hpp"

namespace waybill {
namespace {

constexpr std::uint32_t kBatch = 100;

Filter of_dead(const Filter& filter) {
    Filter wanted = filter;
    wanted.state = Filter::State::dead;
    return wanted;
}

/// "Everything" must be said, not left out.
void must_name_something(const Filter& filter) {
    if (filter.state != Filter::State::any && filter.state != Filter::State::dead) {
        throw InvalidFilter{
            "filter: only dead letters can be requeued or discarded; leave the state out"};
    }
    Filter without_state = filter;
    without_state.state = Filter::State::any;
    if (without_state == Filter{}) {
        throw InvalidFilter{
            "filter: names nothing, which would mean every dead letter of the store; name a box "
            "(type = \"*\" if you do mean all of them)"};
    }
}

template <class Order>
BulkResult in_batches(Catalogue& catalogue, const Filter& filter, std::uint32_t letters_max,
                      Order order) {
    must_name_something(filter);
    const Filter wanted = of_dead(filter);
    // Oldest first, and no more than there are now: what dies again meanwhile comes after them.
    const std::uint64_t there = catalogue.count(wanted);
    const std::uint64_t allowed = std::min(letters_max, DeadLetters::bulk_max);
    std::uint64_t left = std::min(there, allowed);
    BulkResult result{.capped = there > allowed};
    const std::string last = left > 0 ? detail::last_letter(catalogue, wanted, left) : "";
    std::string cursor;
    while (left > 0) {
        const auto rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kBatch));
        Page<DeadLetterDetail> page = catalogue.dead_letters(wanted, cursor, rows);
        detail::end_at(page, last);
        std::vector<DeliveryRef> deliveries;
        for (const DeadLetterDetail& item : page.items) {
            deliveries.push_back({item.letter.message, item.letter.target});
        }
        for (const OperationResult& answer : order(deliveries)) {
            ++(answer.carried_out ? result.carried_out : result.refused);
        }
        left -= std::min<std::uint64_t>(left, page.items.size());
        cursor = page.next;
        if (cursor.empty()) break;
    }
    result.remaining = catalogue.count(wanted);
    return result;
}

}  // namespace

Page<DeadLetterDetail> DeadLetters::list(const Filter& filter, const std::string& cursor,
                                         std::uint32_t rows_max) const {
    return catalogue_->dead_letters(of_dead(filter), cursor, rows_max);
}

std::uint64_t DeadLetters::count(const Filter& filter) const {
    return catalogue_->count(of_dead(filter));
}

std::vector<Attempt> DeadLetters::attempts(const Uuid& message, const std::string& target) const {
    const auto detail = catalogue_->get(message);
    if (!detail) return {};
    std::vector<Attempt> attempts = detail->attempts;
    std::erase_if(attempts, [&](const Attempt& attempt) {
        return !target.empty() && attempt.target != target;
    });
    std::ranges::stable_sort(attempts, {}, &Attempt::at);
    return attempts;
}

OperationResult DeadLetters::requeue(const DeliveryRef& delivery) const {
    return catalogue_->requeue({&delivery, 1}).front();
}

std::vector<OperationResult> DeadLetters::requeue(std::span<const DeliveryRef> deliveries) const {
    return catalogue_->requeue(deliveries);
}

BulkResult DeadLetters::requeue_matching(const Filter& filter, std::uint32_t letters_max) const {
    return in_batches(*catalogue_, filter, letters_max, [&](std::span<const DeliveryRef> batch) {
        return catalogue_->requeue(batch);
    });
}

OperationResult DeadLetters::discard(const DeliveryRef& delivery) const {
    return catalogue_->discard({&delivery, 1}).front();
}

std::vector<OperationResult> DeadLetters::discard(std::span<const DeliveryRef> deliveries) const {
    return catalogue_->discard(deliveries);
}

BulkResult DeadLetters::discard_matching(const Filter& filter, std::uint32_t letters_max) const {
    return in_batches(*catalogue_, filter, letters_max, [&](std::span<const DeliveryRef> batch) {
        return catalogue_->discard(batch);
    });
}

}  // namespace waybill
