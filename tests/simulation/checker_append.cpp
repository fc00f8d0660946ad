#include "simulation/checker.hpp"

namespace waybill::sim {

MessageNumber Checker::add_message(const Message& message) {
    const auto number = static_cast<MessageNumber>(messages_.size());
    messages_.push_back({.message = message});
    numbers_[message.id] = number;
    return number;
}

/// I1: what was answered as new is there, now and later.
void Checker::on_acked(MessageNumber message) {
    MessageFacts& facts = messages_[static_cast<std::size_t>(message)];
    facts.acked = true;
    note("acked", -1, message);
    if (!store_->db().messages.contains(facts.message.id) && !facts.was_lost) {
        fail(facts.unknown ? "I12" : "I1", "an append was answered as new and is not there",
             message);
    }
}

/// I12: unknown is never success; whoever wants to know must ask again.
void Checker::on_unknown(MessageNumber message) {
    messages_[static_cast<std::size_t>(message)].unknown = true;
    note("unknown", -1, message);
}

/// I1b and I4: a duplicate's first one has the same key in the same scope, and is as durable.
void Checker::on_answered(const Append& item, const AppendResult& result) {
    using enum AppendResult::Status;
    const MessageNumber message = number_of(item.message->id);
    if (result.status == fresh) {
        on_acked(message);
        return;
    }
    if (result.status == unknown) return;
    const MessageNumber first = number_of(result.id);
    note("duplicate", -1, message, 0, "of m" + std::to_string(first));
    if (first == no_message) {
        fail("I1b", "a duplicate of nothing", message);
        return;
    }
    const MessageFacts& original = messages_[static_cast<std::size_t>(first)];
    if (!original.committed && !original.was_lost) {
        fail("I1b", "Duplicate was answered, and the first one is not there", message);
    }
    if (original.message.tenant != item.message->tenant ||
        original.message.box != item.message->box ||
        original.message.dedup_key != item.message->dedup_key) {
        fail("I4", "Duplicate was answered for a message of another scope", message);
    }
    const bool is_same = original.message.body == item.message->body;
    if (is_same != (result.status == duplicate)) {
        fail("I4", "duplicate and conflict were mistaken for each other", message);
    }
}

void Checker::on_rolled_back(MessageNumber message) {
    messages_[static_cast<std::size_t>(message)].rolled_back = true;
    note("rolled back", -1, message);
    if (store_->db().messages.contains(messages_[static_cast<std::size_t>(message)].message.id)) {
        fail("I3", "its transaction was rolled back, and it is there", message);
    }
}

/// A8: a sequence is issued once in a timeline, and grows.
void Checker::on_sequence(Sequence sequence) {
    if (sequence <= last_sequence_) {
        fail("A8", "sequence " + std::to_string(sequence) + " was issued again");
    }
    last_sequence_ = sequence;
}

void Checker::on_committed(const OpenRow& row) {
    const MessageNumber number = number_of(row.entry.message->id);
    if (number == no_message) return;
    MessageFacts& facts = messages_[static_cast<std::size_t>(number)];
    facts.committed = true;
    note("committed", -1, number, row.entry.sequence,
         "p" + std::to_string(row.entry.partition) + " " + facts.message.lane +
             (facts.message.collapse_key.empty() ? "" : " collapse " + facts.message.collapse_key) +
             (facts.message.not_before == StoreTime{} ? "" : " scheduled") +
             (row.entry.requeues == 0 ? "" : " requeue " + std::to_string(row.entry.requeues)));
    if (facts.message.dedup_key.empty() || row.entry.requeues > 0) return;

    const Duration window = box_plan(facts.message.box).options.dedup_window;
    const std::string name =
        facts.message.box + "/" + facts.message.tenant + "/" + facts.message.dedup_key;
    facts.dedup_until = later(store_->clock(row.begun), window);
    const auto [first, is_new] = dedup_.try_emplace(name, number);
    if (is_new) return;
    const MessageFacts& original = messages_[static_cast<std::size_t>(first->second)];
    if (original.dedup_until > store_->clock(row.begun) && !clock_ever_stepped_) {
        fail("I4",
             "m" + std::to_string(first->second) + " has the same key, and its window is open",
             number);
    }
    first->second = number;
}

}  // namespace waybill::sim
