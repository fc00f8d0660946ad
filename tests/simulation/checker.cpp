#include "simulation/checker.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace waybill::sim {

void Checker::note(const char* what, ProcessNumber process, MessageNumber message,
                   Sequence sequence, std::string text) {
    history_.add({.at = now_,
                  .what = what,
                  .instance = process,
                  .message = message,
                  .sequence = sequence,
                  .text = std::move(text)});
}

void Checker::fail(std::string rule, std::string text, MessageNumber message) {
    history_.violate(
        {.rule = std::move(rule), .text = std::move(text), .at = now_, .message = message});
}

MessageNumber Checker::number_of(const Uuid& id) const {
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? no_message : found->second;
}

const BoxPlan& Checker::box_plan(const std::string& name) const {
    for (const BoxPlan& box : plan_.boxes) {
        if (box.name == name) return box;
    }
    WAYBILL_ASSERT(false);
}

const TargetPlan* Checker::target_plan(const BoxPlan& box, const std::string& key) const {
    for (const TargetPlan& target : box.targets) {
        if (target.target.key == key) return &target;
    }
    return nullptr;
}

std::string Checker::chain_of(const std::vector<Target>& registry, const std::string& box,
                              const std::string& key) {
    std::string root = key;
    for (std::size_t steps = 0; steps <= registry.size(); ++steps) {
        const auto target = std::find_if(registry.begin(), registry.end(), [&](const Target& t) {
            return t.box == box && t.key == root;
        });
        if (target == registry.end() || target->after.empty()) return root;
        root = target->after;
    }
    return root;
}

bool Checker::is_requeued(const Entry& entry, const Target& target) {
    return std::any_of(entry.only.begin(), entry.only.end(), [&](const std::string& key) {
        return key == target.key || std::find(target.legacy_keys.begin(), target.legacy_keys.end(),
                                              key) != target.legacy_keys.end();
    });
}

std::vector<const Target*> Checker::matching(const std::vector<Target>& registry,
                                             const Entry& entry) {
    std::vector<const Target*> found;
    for (const Target& target : registry) {
        if (target.box == entry.message->box && matches(target.matcher, *entry.message) &&
            (entry.only.empty() || is_requeued(entry, target))) {
            found.push_back(&target);
        }
    }
    return found;
}

const Progress* Checker::progress_of(const Entry& entry, const Target& target) {
    if (const Progress* own = find_progress(entry.progress, target.key)) return own;
    for (const std::string& key : target.legacy_keys) {
        if (const Progress* former = find_progress(entry.progress, key)) return former;
    }
    return nullptr;
}

bool Checker::is_current(const Fence& fence) const {
    const auto token = tokens_.find(fence.partition);
    return token != tokens_.end() && token->second == fence.token &&
           fence.token.generation == store_->generation();
}

bool Checker::chain_is_open(const std::vector<Target>& registry, const Entry& entry,
                            const std::string& chain) const {
    bool any_dead = false;
    for (const Target* target : matching(registry, entry)) {
        if (chain_of(registry, target->box, target->key) != chain) continue;
        const Progress* progress = progress_of(entry, *target);
        if (progress == nullptr || progress->state == Progress::State::ready) return true;
        any_dead = any_dead || (progress->state == Progress::State::dead && !progress->skipped);
    }
    return any_dead && entry.halted;
}

void Checker::on_up(ProcessNumber process, const Uuid& incarnation, bool is_guest) {
    processes_[process] = {
        .incarnation = incarnation, .up = true, .guest = is_guest, .trouble = now_};
    note("up", process, no_message, 0, to_string(incarnation).substr(0, 8));
}

void Checker::on_heard(ProcessNumber process, const BeatReply& reply) {
    processes_[process].paused_boxes = reply.paused_boxes;
}

void Checker::on_trouble(ProcessNumber process) {
    processes_[process].trouble = now_;
}

void Checker::on_paused(ProcessNumber process, bool is_paused) {
    note(is_paused ? "pause" : "resume", process);
    processes_[process].paused = is_paused;
    on_trouble(process);
}

void Checker::on_call_answered(ProcessNumber process) {
    // It may have been kept from beating until this moment (see on_taken).
    if (is_stuck(processes_[process], now_)) on_trouble(process);
    processes_[process].call_since.reset();
}

bool Checker::is_stuck(const ProcessFacts& process, Duration now) const {
    return process.call_since && now - *process.call_since > plan_.engine.lease / 3;
}

void Checker::on_trouble_everywhere() {
    for (auto& [number, process] : processes_) process.trouble = now_;
}

void Checker::on_clock_step() {
    clock_stepped_ = now_;
    clock_ever_stepped_ = true;
    on_trouble_everywhere();
}

void Checker::on_gone(ProcessNumber process, bool is_crash) {
    note(is_crash ? "crash" : "exit", process);
    died_with_[processes_[process].incarnation] = running_in(process);
    for (const ActiveRun& run : active_) {
        if (run.process != process || now_ < run.deadline) continue;
        for (const MessageNumber message : run.messages) ++deliveries_[{message, run.target}].fails;
    }
    std::erase_if(active_, [&](const ActiveRun& run) { return run.process == process; });
    processes_[process].up = false;
}

std::set<MessageNumber> Checker::running_in(ProcessNumber process) const {
    std::set<MessageNumber> running;
    for (const ActiveRun& run : active_) {
        if (run.process == process) running.insert(run.messages.begin(), run.messages.end());
    }
    return running;
}

/// An owner is called dead: `running` is what it had in flight when it died, or has, if it only
/// stands still. The mark may have become durable after its process had gone.
void Checker::count_lonely_deaths(const PartitionRow& owned,
                                  const std::set<MessageNumber>& running) {
    const auto rows = store_->db().open.find(owned.id);
    if (rows == store_->db().open.end()) return;
    for (const auto& [sequence, open] : rows->second) {
        const MessageNumber message = number_of(open.entry.message->id);
        const bool is_alone = running.empty() || (running.size() == 1 && running.contains(message));
        if (open.entry.solo_epoch != owned.token.epoch || !is_alone) continue;
        ++messages_[static_cast<std::size_t>(message)].alone_deaths;
        note("lonely death", -1, message, sequence);
    }
}

void Checker::on_page(ProcessNumber process, const ReadRequest& request, const ReadPage& page) {
    static constexpr std::array kKinds{"increment", "scan", "due", "lanes", "parked"};
    using Kind = ReadRequest::Kind;
    ProcessFacts& facts = processes_[process];
    if (request.kind == Kind::increment) {
        const bool is_first = request.position.empty() || !decode(request.position).s2;
        if (is_first) facts.before_increment.merge(facts.scanned);
        if (!page.more) facts.read.merge(facts.before_increment);
    }
    for (const Entry& entry : page.entries) {
        const bool is_partial = request.kind == Kind::scan || request.kind == Kind::lanes;
        auto& rows = is_partial ? facts.scanned : facts.read;
        rows.insert({entry.partition, entry.sequence});
        note("read", process, number_of(entry.message->id), entry.sequence,
             kKinds[static_cast<std::size_t>(request.kind)]);
    }
}

void Checker::on_registry(ProcessNumber process, const std::vector<Target>& registry) {
    processes_[process].registry = registry;
}

void Checker::on_status(ProcessNumber process, const engine::Status& status) {
    if (status.reconciled > 0) fail("A9", "the reconcile found work the engine did not know");
    const engine::Options& options = plan_.engine;
    const std::uint64_t rows = std::max(options.page_rows, options.increment_rows);
    const std::uint64_t page = std::min<std::uint64_t>(options.page_bytes, rows * 2048ULL);
    if (status.window_used > options.window_bytes + page + 4096) {
        fail("I13", "window_used " + std::to_string(status.window_used) + " of " +
                        std::to_string(options.window_bytes) + " at i" + std::to_string(process));
    }
}

void Checker::on_event(ProcessNumber process, const Event& event) {
    const MessageNumber message = event.message.is_nil() ? no_message : number_of(event.message);
    std::string text{to_string(event.kind)};
    if (event.partition != 0) text += " p" + std::to_string(event.partition);
    if (!event.target.empty()) text += " " + std::string{event.target};
    if (!event.text.empty()) text += " " + std::string{event.text};
    if (event.count != 0) text += " " + std::to_string(event.count);
    note("engine:", process, message, event.sequence, text);
    if (event.kind == Event::Kind::reconciled) {
        fail("A9", "the reconcile found work the engine did not know", message);
    }
}

bool Checker::has_running(ProcessNumber process) const {
    return std::any_of(active_.begin(), active_.end(),
                       [&](const ActiveRun& run) { return run.process == process; });
}

bool Checker::has_ghosts(ProcessNumber process) const {
    return std::any_of(active_.begin(), active_.end(), [&](const ActiveRun& run) {
        return run.process == process && now_ >= run.deadline;
    });
}

std::vector<PartitionId> Checker::partitions_running(ProcessNumber process) const {
    std::vector<PartitionId> found;
    for (const ActiveRun& run : active_) {
        if (run.process == process && is_current(run.fence)) found.push_back(run.fence.partition);
    }
    return found;
}

void Checker::on_taken(const PartitionRow& before, const Taken& taken, bool held, Duration begun) {
    note("taken", -1, no_message, 0,
         "p" + std::to_string(taken.partition) + " epoch " + std::to_string(taken.token.epoch) +
             " by " + to_string(taken.token.owner).substr(0, 8) +
             (taken.unclean ? " unclean" : ""));
    if (held && now_ - clock_stepped_ >= plan_.engine.lease * 3) {
        fail("I5", "partition " + std::to_string(before.id) +
                       " was taken from an owner whose lease lives");
    }
    if (const auto gone = died_with_.find(before.token.owner);
        taken.unclean && gone != died_with_.end()) {
        count_lonely_deaths(before, gone->second);
    }
    for (const auto& [number, process] : processes_) {
        if (process.incarnation != before.token.owner || !process.up) continue;
        if (before.token.owner == taken.token.owner) continue;
        if (taken.unclean) count_lonely_deaths(before, running_in(number));
        // While the takeover is under way its renewals wait.
        // A call that ignores the adapter's deadline keeps it from declaring on a new timeline, and
        // so from beating.
        const bool was_healthy = !process.paused && !is_stuck(process, begun) &&
                                 begun - process.trouble > plan_.engine.lease * 2;
        if (was_healthy) {
            fail("B3", "i" + std::to_string(number) + " was healthy and lost its lease");
        }
    }
    tokens_[taken.partition] = taken.token;
}

void Checker::on_given(const PartitionRow& before, const GiveRequest& give) {
    note("given", -1, no_message, 0,
         "p" + std::to_string(give.partition) + " by " + to_string(give.token.owner).substr(0, 8));
    for (const auto& [number, process] : processes_) {
        if (process.up && process.guest && process.incarnation == give.heir) {
            fail("B9", "partition " + std::to_string(before.id) + " was given to a guest");
        }
        if (!process.up || process.incarnation != give.token.owner) continue;
        for (const ActiveRun& run : active_) {
            if (run.process == number && run.fence.partition == before.id) {
                fail("B7",
                     "partition " + std::to_string(before.id) + " was given while a handler of " +
                         run.target + " ran in it",
                     run.messages.front());
            }
        }
    }
    tokens_[give.partition].owner = {};
}

void Checker::on_promoted(const Database& lost) {
    for (MessageFacts& facts : messages_) {
        const Uuid& id = facts.message.id;
        const bool is_gone = lost.messages.contains(id) && !store_->db().messages.contains(id);
        facts.was_lost = facts.was_lost || is_gone;
        facts.committed = store_->db().messages.contains(id);
    }
    std::erase_if(dedup_, [&](const auto& item) {
        return !messages_[static_cast<std::size_t>(item.second)].committed;
    });
    for (const auto& [id, row] : store_->db().partitions) tokens_[id] = row.token;
    for (const auto& [id, rows] : store_->db().open) {
        for (const auto& [sequence, row] : rows) {
            if (row.entry.solo_epoch == 0) continue;
            // That it ended well may be lost: then nobody can tell it from one that killed its owner.
            const MessageNumber number = number_of(row.entry.message->id);
            ++messages_[static_cast<std::size_t>(number)].alone_deaths;
        }
    }
    letters_.clear();
    for (const auto& [key, letter] : store_->db().dead) letters_.insert(key);
    last_sequence_ = store_->db().next_sequence - 1;
    for (auto& [number, facts] : processes_) {
        // Numbers that were lost are given out again, to rows nobody has read.
        for (ProcessFacts::Rows* rows : {&facts.read, &facts.scanned, &facts.before_increment}) {
            std::erase_if(*rows, [&](const auto& row) { return row.second > last_sequence_; });
        }
    }
    note("promoted", -1, no_message, 0, store_->generation());
    on_trouble_everywhere();
}

}  // namespace waybill::sim
