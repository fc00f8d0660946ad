#include "fidelity/player.hpp"

#include <algorithm>

#include "core/sha256.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;

Uuid id_of(int number) {
    Uuid id;
    id.bytes[6] = 0x70;
    id.bytes[8] = 0x80;
    for (std::size_t i = 0; i < 4; ++i) {
        id.bytes[15 - i] = static_cast<std::uint8_t>(static_cast<unsigned>(number) >> (8 * i));
    }
    return id;
}

std::string_view name_of(Reaction reaction) {
    constexpr std::string_view kNames[] = {"retry",    "reconnect", "back_off",
                                           "find_out", "bad_data",  "give_up"};
    return kNames[static_cast<int>(reaction)];
}

}  // namespace

std::string_view to_string(Step::Kind kind) {
    constexpr std::array<std::string_view, Step::kinds> kNames{
        "append",     "declare", "beat",           "take",   "give",   "increment", "scan",
        "due",        "lanes",   "parked",         "settle", "repeat", "requeue",   "replay",
        "discard",    "command", "command_result", "pause",  "forget", "sweep",     "advance",
        "inline_run", "browse",  "letters",        "detail", "count",  "health"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::ostream& operator<<(std::ostream& out, const Step& step) {
    return out << to_string(step.kind) << ' ' << step.seed;
}

Player::Player(std::unique_ptr<Stage> stage, Pages pages)
    : pages_(pages), stage_(std::move(stage)), here_(stage_->connect()) {
    here_.upkeep->migrate();
    const std::vector<BoxDeclaration> boxes{{"orders", {.partitions = 2}},
                                            {"mail", {.partitions = 1}}};
    here_.store->declare(boxes, {});
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        Host& host = hosts_[i];
        host.roles = stage_->connect();
        host.state.incarnation = id_of(1'000'000 + static_cast<int>(i));
        host.state.name = "host " + std::to_string(i);
        host.state.boxes = {"orders", "mail"};
        // Whoever has the file lock lives; a lease that never ends is the same.
        host.state.lease = std::chrono::hours{24 * 365 * 100};
    }
}

std::string Player::play(const Step& step) {
    Dice dice{step.seed};
    const std::string start = std::string{to_string(step.kind)} + " ";
    try {
        return start + act(step.kind, dice);
    } catch (const StoreError& error) {
        return start + "refused: " + std::string{name_of(error.reaction())};
    }
}

std::string Player::act(Step::Kind kind, Dice& dice) {
    switch (kind) {
        case Step::Kind::append: return append(dice);
        case Step::Kind::declare: return declare(dice);
        case Step::Kind::beat: return beat(dice);
        case Step::Kind::take: return take(dice);
        case Step::Kind::give: return give(dice);
        case Step::Kind::increment:
        case Step::Kind::scan:
        case Step::Kind::due:
        case Step::Kind::lanes:
        case Step::Kind::parked: return read(kind, dice);
        case Step::Kind::settle: return settle(dice);
        case Step::Kind::repeat: return repeat(dice);
        case Step::Kind::requeue:
        case Step::Kind::replay:
        case Step::Kind::discard: return requeue_or_discard(kind, dice);
        case Step::Kind::command: return command(dice);
        case Step::Kind::command_result: return command_result(dice);
        case Step::Kind::pause: {
            const std::string box = dice.one_in(2) ? "orders" : "mail";
            const bool paused = dice.one_in(2);
            here_.catalogue->pause_box(box, paused);
            return box + (paused ? " pauses" : " goes on");
        }
        case Step::Kind::forget: {
            const std::string key = dice.pick(std::array<std::string, 4>{"a", "b", "c", "x"});
            return key +
                   (here_.catalogue->forget_target("orders", key) ? " forgotten" : " unknown");
        }
        case Step::Kind::sweep: return sweep(dice);
        case Step::Kind::advance: return advance(dice);
        case Step::Kind::inline_run: return inline_run(dice);
        case Step::Kind::browse: {
            const Filter wanted = filter(dice);
            return browse(wanted, 1 + static_cast<std::uint32_t>(dice.below(4)));
        }
        case Step::Kind::letters: {
            const Filter wanted = filter(dice);
            return letters(wanted, 1 + static_cast<std::uint32_t>(dice.below(4)));
        }
        case Step::Kind::detail:
            return messages_.empty() ? detail(id_of(1)) : detail(dice.pick(messages_));
        case Step::Kind::count: return std::to_string(here_.catalogue->count(filter(dice)));
        case Step::Kind::health: return told_.tell(here_.upkeep->health());
    }
    return {};
}

Message Player::message(Dice& dice) {
    Message message;
    message.id = dice.one_in(4) ? id_of(1 + static_cast<int>(dice.below(8))) : id_of(next_id_++);
    message.box = dice.pick(std::array<std::string, 4>{"orders", "orders", "orders", "mail"});
    message.type = dice.pick(std::array<std::string, 3>{"t", "t", "u"});
    message.body = dice.pick(std::array<std::string, 3>{"x", "y", std::string{"\0z\xFF", 3}});
    message.lane = dice.pick(std::array<std::string, 4>{"", "", "A", "B"});
    message.dedup_key = dice.pick(std::array<std::string, 5>{"", "", "k0", "k1", "k2"});
    if (!message.lane.empty() && dice.one_in(3)) message.collapse_key = "c";
    message.source = dice.one_in(2) ? "shop" : "";
    message.tenant = dice.one_in(2) ? "acme" : "";
    message.content_type = "text/plain";
    if (dice.one_in(3)) message.attributes = {{"trace", "1-2-3"}, {"käse", "brie"}};
    const StoreTime now = stage_->clock.wall();
    message.not_before =
        dice.pick(std::array{StoreTime{}, StoreTime{}, StoreTime{}, now - 1s, now + 5s, now + 1h});
    if (dice.one_in(4)) message.occurred_at = now - 1min;
    return message;
}

Append Player::item(Dice& dice, Message message) const {
    Append item{.dedup_scope = message.box};
    item.dedup_window = dice.pick(std::array<Duration, 3>{forever, 10s, 1h});
    if (!message.dedup_key.empty()) item.body_hash = sha256_bytes(message.body);
    item.message = std::make_shared<const Message>(std::move(message));
    return item;
}

std::string Player::append(Dice& dice) {
    std::vector<Append> batch;
    std::string text;
    const std::size_t count = dice.one_in(20) ? 0 : 1 + dice.below(4);
    for (std::size_t i = 0; i < count; ++i) {
        Message next = message(dice);
        if (dice.one_in(60)) next.box = "nowhere";
        messages_.push_back(next.id);
        deliveries_.push_back({next.id, std::string(1, "abc"[dice.below(3)])});
        batch.push_back(item(dice, std::move(next)));
        text += "\n  < " + Transcript::tell(*batch.back().message);
    }
    try {
        for (const AppendResult& result : here_.store->append(batch)) {
            text += "\n  > " + told_.tell(result);
        }
    } catch (const StoreError& error) {
        text += "\n  > refused: " + std::string{name_of(error.reaction())};
    }
    return text;
}

std::string Player::declare(Dice& dice) {
    std::vector<BoxDeclaration> boxes;
    if (dice.one_in(3)) boxes.push_back({"orders", {.partitions = 3}});
    std::vector<Target> targets;
    for (std::size_t count = dice.below(3); count > 0; --count) {
        Target target{.box = "orders", .key = std::string(1, "abc"[dice.below(3)])};
        target.matcher.type = dice.one_in(2) ? "*" : "t";
        if (dice.one_in(4)) target.after = "a";
        if (dice.one_in(4)) target.legacy_keys = {"x"};
        if (target.after == target.key) target.after.clear();
        targets.push_back(std::move(target));
    }
    here_.store->declare(boxes, targets);
    std::vector<std::string> lines;
    for (const Target& target : here_.catalogue->targets()) {
        lines.push_back(Transcript::tell(target));
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) text += "\n    " + line;
    return text;
}

std::string Player::beat(Dice& dice) {
    Host& who = host(dice);
    who.state.stopping = dice.one_in(10);
    who.state.guest = dice.one_in(10);
    who.state.hungry = static_cast<std::uint32_t>(dice.below(3));
    who.state.boxes = {"orders"};
    if (!dice.one_in(4)) who.state.boxes.push_back("mail");
    if (dice.one_in(3)) who.state.registry_version = 0;
    who.seen = who.roles.store->beat(who.state);
    const std::string text = told_.tell(who.seen);
    who.state.registry_version = who.seen.registry_version;
    for (const PartitionState& state : who.seen.partitions) {
        if (std::ranges::find(partitions_, state.id) == partitions_.end()) {
            partitions_.push_back(state.id);
        }
    }
    std::ranges::sort(partitions_);
    return who.state.name + ": " + text;
}

std::string Player::take(Dice& dice) {
    Host& who = host(dice);
    std::vector<TakeRequest> wanted;
    for (const PartitionState& state : who.seen.partitions) {
        if (!dice.one_in(4)) wanted.push_back({state.id, state.token});
    }
    const std::vector<Taken> taken = who.roles.store->take(who.state.incarnation, wanted);
    for (const Taken& item : taken) who.taken[item.partition] = item.token;
    return who.state.name + ": " + told_.tell(taken);
}

std::string Player::give(Dice& dice) {
    Host& who = host(dice);
    std::vector<GiveRequest> partitions;
    std::string text = who.state.name + ":";
    for (const auto& [id, token] : who.taken) {
        if (!dice.one_in(3)) continue;
        const Uuid heir = dice.one_in(2) ? host(dice).state.incarnation : Uuid{};
        partitions.push_back({id, token, heir});
        text += " " + told_.partition(id);
    }
    who.roles.store->give(partitions);
    return text;
}

const Entry* Player::known_row(Dice& dice) {
    if (rows_.empty()) return nullptr;
    auto at = rows_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(dice.below(rows_.size())));
    return &at->second;
}

void Player::remember(const ReadPage& page) {
    for (const Entry& entry : page.entries) rows_.insert_or_assign(entry.sequence, entry);
}

std::string Player::read(Step::Kind kind, Dice& dice) {
    Host& who = host(dice);
    ReadRequest request{.rows_max = 1 + static_cast<std::uint32_t>(dice.below(5))};
    for (const auto& [id, token] : who.taken) {
        if (!dice.one_in(5)) request.partitions.push_back(id);
    }
    if (!partitions_.empty()) request.partition = dice.pick(partitions_);
    const Entry* row = dice.one_in(2) ? nullptr : known_row(dice);
    const StoreTime now = stage_->clock.wall();
    switch (kind) {
        case Step::Kind::increment:
            request.kind = ReadRequest::Kind::increment;
            request.position = who.position;
            break;
        case Step::Kind::scan: request.kind = ReadRequest::Kind::scan; break;
        case Step::Kind::parked: request.kind = ReadRequest::Kind::parked; break;
        case Step::Kind::due:
            request.kind = ReadRequest::Kind::due;
            request.due_from = row != nullptr ? row->due : StoreTime{};
            request.due_until = dice.pick(std::array{now, now + 5s, now + 1h, store_never});
            break;
        default:
            request.kind = ReadRequest::Kind::lanes;
            request.lane_rows = 1 + static_cast<std::uint32_t>(dice.below(3));
            request.lanes = {{request.partition, "A", row != nullptr ? row->sequence : 0},
                             {request.partition, "B", 0}};
    }
    if (row != nullptr) request.after = row->sequence;
    const bool is_increment = kind == Step::Kind::increment;
    std::string text = who.state.name + ": ";
    for (;;) {
        const ReadPage page = who.roles.store->read(request);
        remember(page);
        text += told_.tell(page, is_increment);
        if (!is_increment) return text;
        request.position = who.position = page.position;
        who.commands = page.commands;
        if (!page.more || pages_ == Pages::one_by_one) return text;
    }
}

std::string Player::advance(Dice& dice) {
    const Duration by = dice.pick(std::array<Duration, 5>{1us, 1s, 5s, 10s, 1h});
    stage_->advance(by);
    return std::to_string(by.count()) + "us";
}

}  // namespace waybill::test
