#include <algorithm>

#include "simulation/world.hpp"

namespace waybill::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

Append World::make_message() {
    const BoxPlan& box = dice_.pick(plan_.boxes);
    auto message = std::make_shared<Message>();
    message->id = uuid7(store_.clock(now_), dice_);
    message->box = box.name;
    message->type = dice_.pick(box.types);
    message->tenant = dice_.pick(box.tenants);
    message->body =
        std::string(static_cast<std::size_t>(dice_.between(1, plan_.body_bytes_max)), 'x');
    if (dice_.chance(box.laned)) message->lane = dice_.pick(box.lanes);
    if (dice_.chance(box.keyed)) message->dedup_key = "k" + std::to_string(dice_.between(0, 30));
    if (!message->dedup_key.empty() && dice_.chance(0.7)) message->body = message->dedup_key;
    if (!message->lane.empty() && dice_.chance(box.collapsing)) {
        message->collapse_key = "c" + std::to_string(dice_.between(0, 2));
    }
    if (dice_.chance(box.scheduled)) {
        // Often in whole seconds, as people do: many are due at the same moment.
        const Duration unit = dice_.chance(0.5) ? Duration{seconds{5}} : Duration{1};
        const StoreTime wanted = store_.clock(now_) + dice_.skewed(milliseconds{10}, seconds{40});
        message->not_before = wanted - wanted.time_since_epoch() % unit + unit;
    }
    checker_.add_message(*message);
    published_.push_back(message->id);
    return {.message = message,
            .dedup_scope = box.name + "/" + message->tenant,
            .dedup_window = box.options.dedup_window,
            .body_hash = message->body};
}

void World::plan_publications() {
    std::uint32_t left = plan_.messages;
    while (left > 0) {
        const auto count = std::min(
            left, static_cast<std::uint32_t>(dice_.chance(0.7) ? 1 : dice_.between(1, 12)));
        left -= count;
        ++open_publications_;
        const bool in_transaction = dice_.chance(0.5);
        at(dice_.between(milliseconds{0}, plan_.publish_for), [this, count, in_transaction] {
            std::vector<Append> items;
            for (std::uint32_t i = 0; i < count; ++i) items.push_back(make_message());
            if (in_transaction) {
                publish_in_transaction(std::move(items));
            } else {
                publish_directly({.items = std::move(items)});
            }
        });
    }
}

/// The caller's own transaction: sequences are drawn, time passes, then it commits or not.
void World::publish_in_transaction(std::vector<Append> items) {
    const SimStore::TxId tx = store_.begin_tx(-1);
    const bool is_long = dice_.chance(plan_.faults.long_transaction);
    Duration delay{};
    for (const Append& item : items) {
        after(delay, [this, tx, item] {
            const auto result = store_.append(tx, item);
            if (result && result->status != AppendResult::Status::fresh) {
                checker_.note("tx duplicate", -1, checker_.number_of(item.message->id));
            }
        });
        delay += dice_.skewed(milliseconds{0}, is_long ? milliseconds{800} : milliseconds{5});
    }
    delay += dice_.skewed(milliseconds{0}, is_long ? seconds{4} : milliseconds{20}) + Duration{1};
    const bool rolls_back = dice_.chance(plan_.faults.rollback);
    after(delay, [this, tx, items = std::move(items), rolls_back] {
        --open_publications_;
        if (rolls_back) {
            store_.rollback_tx(tx);
            for (const Append& item : items) {
                checker_.on_rolled_back(checker_.number_of(item.message->id));
            }
            return;
        }
        if (!store_.commit_tx(tx)) return;  // the server is another one: nothing of it is there
        hint();
    });
}

/// Through an instance, which hands the messages over to its engine.
void World::publish_directly(Publication publication) {
    Process& through = any_process();
    if (!through.up || through.paused || through.stopping) {
        try_again(std::move(publication));
        return;
    }
    Fate fate = draw_fate(nullptr);
    if (dice_.chance(0.3)) fate.back += dice_.skewed(milliseconds{0}, milliseconds{100});
    if (dice_.chance(0.3)) fate.hold += dice_.skewed(milliseconds{0}, milliseconds{100});
    const std::uint64_t reads = through.engine->overtaking_reads();
    auto shared = std::make_shared<Publication>(std::move(publication));
    after(fate.out, [this, shared, number = through.number, life = through.life, reads, fate] {
        arrive_append(shared, number, life, reads, fate);
    });
}

void World::try_again(Publication publication) {
    if (++publication.tries > 30) {
        --open_publications_;
        return;
    }
    after(dice_.between(milliseconds{20}, seconds{1}),
          [this, again = std::move(publication)] { publish_directly(again); });
}

/// Never a success: with a key it may be sent again, else it is looked up.
void World::append_unknown(const std::shared_ptr<Publication>& publication) {
    bool are_keyed = true;
    for (const Append& item : publication->items) {
        are_keyed = are_keyed && !item.message->dedup_key.empty();
        checker_.on_unknown(checker_.number_of(item.message->id));
        if (mutation_ == Mutation::unknown_append_is_success) {
            checker_.on_acked(checker_.number_of(item.message->id));
        }
    }
    if (are_keyed) {
        try_again(*publication);
    } else {
        --open_publications_;
    }
}

void World::arrive_append(const std::shared_ptr<Publication>& publication, ProcessNumber number,
                          std::uint64_t life, std::uint64_t reads_before, Fate fate) {
    const bool is_lie = mutation_ == Mutation::ack_before_commit;
    if (fate.kind == Fate::Kind::not_applied && !is_lie) {
        const bool is_unknown = fate.failure.reaction == Reaction::find_out;
        after(fate.back, [this, publication, is_unknown] {
            if (is_unknown) {
                append_unknown(publication);
            } else {
                try_again(*publication);
            }
        });
        return;
    }
    const SimStore::TxId tx = store_.begin_tx(number);
    std::vector<AppendResult> results;
    for (const Append& item : publication->items) {
        const auto result = store_.append(tx, item);
        if (!result) {  // a key is held: nothing was applied
            store_.rollback_tx(tx);
            after(fate.back, [this, publication] { try_again(*publication); });
            return;
        }
        results.push_back(*result);
    }
    after(fate.hold, [this, publication, number, life, reads_before, fate, tx, results] {
        const bool is_kept = fate.kind != Fate::Kind::not_applied;
        if (!is_kept) store_.rollback_tx(tx);
        const bool is_committed = is_kept && store_.commit_tx(tx);
        // A store in order tells the others; who appends has the hand-over.
        if (is_committed) hint(plan_.is_in_order ? number : nobody);
        after(fate.back, [=, this] {
            if (fate.kind == Fate::Kind::answer_lost || (is_kept && !is_committed)) {
                append_unknown(publication);
                in_process(number, life, [this](Process& p) { p.engine->on_wake(local(p)); });
                return;
            }
            --open_publications_;
            std::vector<engine::HandOver> fresh;
            for (std::size_t i = 0; i < results.size(); ++i) {
                checker_.on_answered(publication->items[i], results[i]);
                if (results[i].status != AppendResult::Status::fresh) continue;
                fresh.push_back({.message = publication->items[i].message,
                                 .sequence = results[i].sequence,
                                 .partition = results[i].partition,
                                 .reads_before = reads_before,
                                 .transaction = results[i].transaction});
            }
            for (engine::HandOver& one : fresh) {
                one.transaction_rows = static_cast<std::uint32_t>(fresh.size());
            }
            in_process(number, life, [this, fresh](Process& p) {
                std::vector<engine::HandOver> mine = fresh;
                for (engine::HandOver& message : mine) p.mutant->hand_over(message, *p.engine);
                p.engine->on_appended(local(p), mine);
            });
        });
    });
}

}  // namespace waybill::sim
