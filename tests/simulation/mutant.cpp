#include "simulation/mutant.hpp"

namespace waybill::sim {

void Mutant::configure(engine::Config& config) const {
    for (engine::LocalBox& box : config.boxes) {
        if (is(Mutation::strict_as_exclusive) && box.options.lanes == Lanes::strict) {
            box.options.lanes = Lanes::exclusive;
            box.options.on_dead = OnDead::advance;
        }
        if (is(Mutation::lanes_ignored)) {
            box.options.lanes = Lanes::none;
            box.options.on_dead = OnDead::advance;
        }
        if (is(Mutation::halt_as_advance)) box.options.on_dead = OnDead::advance;
        if (is(Mutation::concurrency_ignored)) box.options.concurrency *= 2;
        for (engine::LocalTarget& target : box.targets) {
            if (is(Mutation::concurrency_ignored)) target.options.concurrency *= 2;
            if (is(Mutation::rate_ignored)) target.options.rate = 0;
            if (is(Mutation::chain_ignored)) target.target.after.clear();
            std::uint32_t& attempts = target.options.retry.max_attempts;
            if (is(Mutation::dies_one_early) && attempts > 1) --attempts;
        }
    }
}

void Mutant::before_beat(InstanceState& state) const {
    if (is(Mutation::guest_is_counted) && state.guest) {
        state.guest = false;
        state.hungry = 16;
    }
}

void Mutant::after_beat(BeatReply& reply) {
    if (generation_.empty()) generation_ = reply.generation;
    if (is(Mutation::generation_hidden)) reply.generation = generation_;
    if (is(Mutation::wrong_store_clock)) reply.now += std::chrono::minutes{1};
    if (is(Mutation::pause_ignored)) reply.paused_boxes.clear();
}

void Mutant::before_call(engine::ChannelCall& call) {
    auto* read = std::get_if<ReadRequest>(&call);
    if (read == nullptr || read->kind != ReadRequest::Kind::increment) return;
    if (is(Mutation::position_at_end_of_scan) && scanned_) {
        read->position.clear();
        scanned_ = false;
    }
}

void Mutant::at_store(const engine::ChannelCall& call, SimStore& store) {
    const auto* take = std::get_if<engine::TakeCall>(&call);
    if (take == nullptr || !is(Mutation::take_and_scan_in_one)) return;
    for (const TakeRequest& want : take->wanted) {
        const ReadPage page = store.read(
            {.kind = ReadRequest::Kind::scan, .partition = want.partition, .rows_max = 100000}, -1);
        images_.try_emplace(want.partition, page.entries);
    }
}

void Mutant::after_call(const engine::ChannelCall& call, engine::ChannelReply& reply) {
    if (auto* failure = std::get_if<engine::Failure>(&reply)) {
        const bool is_settle = std::holds_alternative<SettleBatch>(call);
        const bool is_unknown = failure->reaction == Reaction::find_out;
        if (is_settle && (is_unknown ? is(Mutation::unknown_settle_is_success)
                                     : is(Mutation::failed_settle_is_success))) {
            reply = SettleReply{};
        }
        return;
    }
    auto* page = std::get_if<ReadPage>(&reply);
    const auto* read = std::get_if<ReadRequest>(&call);
    if (page == nullptr || read == nullptr) {
        if (!std::holds_alternative<std::vector<Taken>>(reply)) images_.clear();
        return;
    }
    if (generation_.empty()) generation_ = page->generation;
    if (is(Mutation::generation_hidden)) page->generation = generation_;
    if (is(Mutation::wrong_store_clock)) page->now += std::chrono::minutes{1};
    if (read->kind == ReadRequest::Kind::scan) {
        scanned_ = true;
        const auto image = images_.find(read->partition);
        if (image != images_.end() && read->after == 0) {
            // As they were; what came since is not the matter here.
            std::map<Sequence, Entry> seen;
            for (const Entry& entry : page->entries) seen[entry.sequence] = entry;
            for (const Entry& entry : image->second) seen[entry.sequence] = entry;
            page->entries.clear();
            for (auto& [sequence, entry] : seen) page->entries.push_back(std::move(entry));
        }
        images_.erase(read->partition);
    }
    if (read->kind != ReadRequest::Kind::increment) return;
    if (is(Mutation::hint_only_wake) && !hinted_ && !read->position.empty()) {
        page->entries.clear();
        page->position = read->position;
        page->more = false;
    }
    hinted_ = false;
    if (is(Mutation::old_read_after_settle)) {
        const std::vector<Entry> fresh = page->entries;
        page->entries.insert(page->entries.begin(), old_page_.begin(), old_page_.end());
        old_page_.clear();
        if (dice_.chance(0.3)) old_page_ = fresh;
    }
}

void Mutant::hand_over(engine::HandOver& message, const engine::Engine& engine) const {
    if (is(Mutation::late_hand_over)) message.reads_before = engine.overtaking_reads();
    if (is(Mutation::known_by_half)) message.transaction_rows = 1;
    if (is(Mutation::lane_from_fast_path)) {
        auto copy = std::make_shared<Message>(*message.message);
        copy->lane.clear();
        message.message = copy;
    }
}

}  // namespace waybill::sim
