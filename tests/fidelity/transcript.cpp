#include "fidelity/transcript.hpp"

#include <algorithm>

#include "support/manual_clock.hpp"

namespace waybill::test {
namespace {

std::string short_id(const Uuid& id) {
    return id.is_nil() ? "-" : to_string(id).substr(24);
}

std::string sorted_lines(std::vector<std::string> lines) {
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) text += "\n    " + line;
    return text;
}

std::string quoted(const std::string& text) {
    std::string plain;
    for (const char letter : text) {
        if (letter >= ' ' && letter <= '~') {
            plain.push_back(letter);
        } else {
            plain += "<" + std::to_string(static_cast<unsigned char>(letter)) + ">";
        }
    }
    return "\"" + plain + "\"";
}

}  // namespace

std::string Transcript::time(StoreTime time) {
    if (time == StoreTime{}) return "at once";
    if (time == store_never) return "never";
    const auto since = time.time_since_epoch() - ManualClock::start;
    return std::to_string(since.count()) + "us";
}

std::string Transcript::tell(const AppendResult& result) {
    constexpr const char* kNames[] = {"fresh", "duplicate", "conflict", "unknown"};
    return std::string{kNames[static_cast<int>(result.status)]} + " " + short_id(result.id) + " " +
           row(result.sequence) + " " + partition(result.partition) +
           (result.first_is_dead ? " first is dead" : "");
}

std::string Transcript::tell(const Target& target) {
    std::string text = target.box + "/" + target.key + " type " + target.matcher.type + " after " +
                       quoted(target.after) + (target.after_dead == AfterDead::go_on ? " on" : "");
    for (const std::string& key : target.legacy_keys) text += " was " + key;
    return text;
}

std::string Transcript::tell(const BeatReply& reply) {
    std::string text = "now " + time(reply.now) + ", " + registry_.of(reply.registry_version);
    // Names are given in an order both stores share: boxes by name, partitions by slot.
    std::vector<PartitionState> partitions = reply.partitions;
    std::ranges::sort(partitions, {}, [](const PartitionState& state) {
        return std::pair{state.box, state.first_slot};
    });
    constexpr const char* kOwners[] = {"free", "owned", "dead"};
    for (const PartitionState& state : partitions) {
        text += "\n    " + partition(state.id) + " " + state.box + " " +
                std::to_string(state.first_slot) + "-" + std::to_string(state.last_slot) + " " +
                kOwners[static_cast<int>(state.state)] + " by " + short_id(state.token.owner) +
                " " + epoch(state.id, state.token.epoch) + " heir " + short_id(state.heir);
    }
    std::vector<std::string> lines;
    for (const Peer& peer : reply.peers) {
        lines.push_back("peer " + short_id(peer.incarnation) + " " + peer.name + " hungry " +
                        std::to_string(peer.hungry) + (peer.stopping ? " stopping" : "") +
                        (peer.guest ? " guest" : ""));
    }
    for (const std::string& box : reply.paused_boxes) lines.push_back("paused " + box);
    for (const Target& target : reply.registry) lines.push_back("target " + tell(target));
    return text + sorted_lines(std::move(lines));
}

std::string Transcript::tell(std::vector<Taken> taken) {
    std::vector<std::string> lines;
    for (const Taken& item : taken) {
        lines.push_back(partition(item.partition) + " " + short_id(item.token.owner) + " " +
                        epoch(item.partition, item.token.epoch) + " ends " +
                        std::to_string(item.unclean_ends) + (item.unclean ? " unclean" : ""));
    }
    return std::to_string(taken.size()) + " taken" + sorted_lines(std::move(lines));
}

std::string Transcript::tell(const Message& message) {
    std::ostringstream text;
    text << short_id(message.id) << ' ' << message.box << ' ' << message.type << ' '
         << quoted(message.body) << " lane " << quoted(message.lane) << " key "
         << quoted(message.dedup_key) << " collapse " << quoted(message.collapse_key) << " tenant "
         << quoted(message.tenant) << " source " << quoted(message.source) << " content "
         << quoted(message.content_type) << " user " << quoted(message.user) << " correlation "
         << quoted(message.correlation_id) << " not before " << time(message.not_before)
         << " occurred " << time(message.occurred_at);
    for (const auto& [name, value] : message.attributes) text << ' ' << name << '=' << value;
    return text.str();
}

std::string Transcript::tell(const Entry& entry) {
    std::ostringstream text;
    text << partition(entry.partition) << ' ' << row(entry.sequence) << " due " << time(entry.due)
         << " requeues " << entry.requeues << " strikes " << entry.strikes << " solo "
         << entry.solo_epoch << (entry.halted ? " halted" : "") << (entry.parked ? " parked" : "");
    std::vector<std::string> lines;
    for (const Progress& progress : entry.progress) {
        lines.push_back("  " + progress.target + " state " +
                        std::to_string(static_cast<int>(progress.state)) + " failures " +
                        std::to_string(progress.failures) + " due " + time(progress.due) + " " +
                        quoted(progress.last_error) + (progress.skipped ? " skipped" : ""));
    }
    for (const std::string& target : entry.only) lines.push_back("  only " + target);
    text << " of " << (entry.message ? tell(*entry.message) : "nothing");
    return text.str() + sorted_lines(std::move(lines));
}

std::string Transcript::tell(const Command& wish) {
    constexpr const char* kNames[] = {"cancel", "skip", "resume"};
    return command(wish.id) + " " + partition(wish.partition) + " " +
           kNames[static_cast<int>(wish.kind)] + " " + short_id(wish.message) + " " +
           row(wish.sequence) + " " + quoted(wish.target);
}

std::string Transcript::tell(const ReadPage& page, bool is_increment) {
    std::string text = std::to_string(page.entries.size()) + " rows" + (page.more ? ", more" : "") +
                       (page.reconnected ? ", reconnected" : "") + ", now " + time(page.now) +
                       (is_increment && page.position.empty() ? ", no position" : "");
    for (const Entry& entry : page.entries) text += "\n    " + tell(entry);
    // By number, so that names are given in the order of their making.
    std::vector<Command> commands = page.commands;
    std::ranges::sort(commands, {}, &Command::id);
    for (const Command& item : commands) text += "\n    " + tell(item);
    return text;
}

std::string Transcript::tell(const SettleReply& reply) {
    std::vector<std::string> lost;
    for (const PartitionId id : reply.lost) lost.push_back("lost " + partition(id));
    return (reply.registry_stale ? "stale" : "settled") + sorted_lines(std::move(lost));
}

std::string Transcript::tell(const DeadLetter& letter) {
    return short_id(letter.message) + " " + row(letter.sequence) + " " + quoted(letter.target) +
           " because " + quoted(letter.because) + " " + quoted(letter.reason) + " failures " +
           std::to_string(letter.failures) + " requeues " + std::to_string(letter.requeues) + " " +
           time(letter.at);
}

std::string Transcript::tell(const Attempt& attempt) {
    return "attempt " + short_id(attempt.message) + " " + attempt.target + " " +
           std::to_string(attempt.requeues) + "/" + std::to_string(attempt.number) + " result " +
           std::to_string(static_cast<int>(attempt.result)) + " " + time(attempt.at) + " took " +
           std::to_string(attempt.took.count()) + " " + quoted(attempt.error) +
           (attempt.detail.empty() ? "" : " detail " + quoted(attempt.detail));
}

std::string Transcript::tell(const MessageSummary& summary) {
    constexpr const char* kNames[] = {"any", "open", "parked", "done", "dead"};
    return std::string{kNames[static_cast<int>(summary.state)]} + " since " +
           time(summary.appended_at) + " requeues " + std::to_string(summary.requeues) + ": " +
           tell(*summary.message);
}

std::string Transcript::tell(const MessageDetail& detail) {
    std::vector<std::string> lines;
    for (const Entry& entry : detail.open) lines.push_back("open " + tell(entry));
    for (const DeadLetter& letter : detail.dead) lines.push_back("dead " + tell(letter));
    for (const Attempt& attempt : detail.attempts) lines.push_back(tell(attempt));
    return tell(detail.summary) + sorted_lines(std::move(lines));
}

std::string Transcript::tell(const StoreHealth& health) {
    return "open " + std::to_string(health.open) + " parked " + std::to_string(health.parked) +
           " dead " + std::to_string(health.dead) + " oldest " +
           std::to_string(health.oldest_open.count()) + (health.reachable ? "" : " not reachable");
}

std::string Transcript::tell(const Swept& swept) {
    return "messages " + std::to_string(swept.messages) + " letters " +
           std::to_string(swept.dead_letters) + " keys " + std::to_string(swept.dedup_records) +
           " attempts " + std::to_string(swept.attempts) + (swept.more ? ", more" : "");
}

}  // namespace waybill::test
