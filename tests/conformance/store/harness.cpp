#include "harness.hpp"

#include <algorithm>

#include "core/sha256.hpp"

namespace waybill::test {
namespace {

bool is_free(const PartitionState& partition) {
    return partition.state != PartitionState::Owner::alive;
}

}  // namespace

Uuid id_of(int number) {
    Uuid id;
    id.bytes[6] = 0x70;
    id.bytes[8] = 0x80;
    for (std::size_t i = 0; i < 4; ++i) {
        id.bytes[15 - i] = static_cast<std::uint8_t>(static_cast<unsigned>(number) >> (8 * i));
    }
    return id;
}

Host::Host(Connection connection, int number) : connection_(std::move(connection)) {
    state.incarnation = id_of(1'000'000 + number);
    state.name = "host-" + std::to_string(number);
    state.boxes = {"orders"};
}

BeatReply Host::beat() {
    BeatReply reply = store().beat(state);
    registry_version_ = reply.registry_version;
    return reply;
}

std::vector<Taken> Host::take_all() {
    std::vector<TakeRequest> wanted;
    for (const PartitionState& partition : beat().partitions) {
        if (is_free(partition)) wanted.push_back({partition.id, partition.token});
    }
    std::vector<Taken> answer = store().take(incarnation(), wanted);
    taken.insert(taken.end(), answer.begin(), answer.end());
    return answer;
}

std::vector<Taken> Host::take(const PartitionState& seen) {
    const TakeRequest wanted{seen.id, seen.token};
    std::vector<Taken> answer = store().take(incarnation(), {&wanted, 1});
    taken.insert(taken.end(), answer.begin(), answer.end());
    return answer;
}

void Host::give(const Taken& partition, const Uuid& heir) {
    const GiveRequest request{partition.partition, partition.token, heir};
    store().give({&request, 1});
}

Fence Host::fence(PartitionId partition) const {
    for (const Taken& item : taken) {
        if (item.partition == partition) return {partition, item.token};
    }
    return {partition, {}};
}

std::vector<PartitionId> Host::partitions() const {
    std::vector<PartitionId> ids;
    for (const Taken& item : taken) ids.push_back(item.partition);
    return ids;
}

std::vector<Entry> Host::scan() const {
    std::vector<Entry> rows;
    for (const PartitionId id : partitions()) {
        ReadRequest request{.kind = ReadRequest::Kind::scan, .partition = id};
        ReadPage page;
        do {
            page = store().read(request);
            rows.insert(rows.end(), page.entries.begin(), page.entries.end());
            if (!page.entries.empty()) request.after = page.entries.back().sequence;
        } while (page.more);
    }
    return rows;
}

std::vector<Entry> Host::increment() {
    std::vector<Entry> rows;
    ReadPage page;
    do {
        page = store().read({.partitions = partitions(), .position = position_});
        position_ = page.position;
        rows.insert(rows.end(), page.entries.begin(), page.entries.end());
    } while (page.more);
    return rows;
}

std::vector<Command> Host::commands() const {
    return store().read({.partitions = partitions()}).commands;
}

SettleReply Host::settle(std::vector<Settlement> items, std::vector<CommandResult> answers) const {
    SettleBatch batch{.registry_version = registry_version_,
                      .items = std::move(items),
                      .commands = std::move(answers)};
    for (const Taken& item : taken) batch.fences.push_back({item.partition, item.token});
    return store().settle(batch);
}

SettleReply Host::finish(const Entry& entry) const {
    return settle({finished(entry)});
}

SettleReply Host::die(const Entry& entry, const std::string& target) const {
    Settlement item = finished(entry);
    item.dead = {dead_letter(entry, target)};
    return settle({item});
}

SettleReply Host::halt(const Entry& entry, const std::string& target) const {
    Settlement item = unchanged(entry);
    item.halted = true;
    item.progress = {{.target = target, .state = Progress::State::dead, .failures = 5}};
    item.dead = {dead_letter(entry, target)};
    return settle({item});
}

SettleReply Host::park(const Entry& entry, bool parked) const {
    Settlement item = unchanged(entry);
    item.parked = parked;
    return settle({item});
}

Settlement unchanged(const Entry& entry) {
    return {.partition = entry.partition,
            .sequence = entry.sequence,
            .message = entry.message->id,
            .due = entry.due,
            .halted = entry.halted,
            .parked = entry.parked,
            .strikes = entry.strikes,
            .solo_epoch = entry.solo_epoch,
            .requeues = entry.requeues};
}

Settlement finished(const Entry& entry) {
    Settlement item = unchanged(entry);
    item.finish = true;
    return item;
}

DeadLetter dead_letter(const Entry& entry, const std::string& target, const std::string& reason) {
    return {.message = entry.message->id,
            .sequence = entry.sequence,
            .target = target,
            .reason = reason,
            .failures = 5,
            .requeues = entry.requeues,
            .at = StoreTime{1'704'067'200s}};
}

Attempt attempt(const Entry& entry, const std::string& target, std::uint32_t number,
                const std::string& error) {
    return {.message = entry.message->id,
            .target = target,
            .requeues = entry.requeues,
            .number = number,
            .result = Attempt::Result::failed,
            .at = StoreTime{1'704'067'200s},
            .took = 3ms,
            .error = error};
}

RowValue value_of(Entry entry) {
    RowValue value{.message = *entry.message};
    entry.message = nullptr;
    value.entry = std::move(entry);
    return value;
}

std::vector<RowValue> values_of(const std::vector<Entry>& entries) {
    std::vector<RowValue> all;
    for (const Entry& entry : entries) all.push_back(value_of(entry));
    return all;
}

std::vector<Sequence> sequences(const std::vector<Entry>& entries) {
    std::vector<Sequence> all;
    for (const Entry& entry : entries) all.push_back(entry.sequence);
    return all;
}

std::vector<std::string> bodies(const std::vector<Entry>& entries) {
    std::vector<std::string> all;
    for (const Entry& entry : entries) all.push_back(entry.message->body);
    return all;
}

StoreConformance::StoreConformance()
    : under_test_(GetParam().make()), here_(under_test_->connect()) {
    here_.upkeep->migrate();
}

StoreTime StoreConformance::now() {
    return store().read({}).now;
}

void StoreConformance::declare_box(BoxOptions options, const std::string& name) {
    if (options.partitions == 0) options.partitions = 1;
    boxes_.push_back({name, options});
    store().declare({&boxes_.back(), 1}, {});
}

void StoreConformance::declare_target(const Target& target) {
    store().declare({}, {&target, 1});
}

Swept StoreConformance::sweep(std::uint32_t rows_max) {
    return upkeep().sweep(boxes_, rows_max);
}

Message StoreConformance::order(int number, const std::string& lane) const {
    return {.id = id_of(number),
            .box = "orders",
            .type = "order.placed",
            .source = "shop",
            .body = "order " + std::to_string(number),
            .lane = lane};
}

Message StoreConformance::keyed(int number, const std::string& key, const std::string& body) const {
    Message message = order(number);
    message.body = body;
    message.dedup_key = key;
    return message;
}

Append StoreConformance::item(Message message) const {
    const auto box = std::ranges::find(boxes_, message.box, &BoxDeclaration::name);
    Append append{.dedup_scope = message.box};
    if (box != boxes_.end()) append.dedup_window = box->options.dedup_window;
    if (!message.dedup_key.empty()) append.body_hash = sha256_bytes(message.body);
    append.message = std::make_shared<const Message>(std::move(message));
    return append;
}

AppendResult StoreConformance::append(Message message) {
    return append_all({std::move(message)}).front();
}

std::vector<AppendResult> StoreConformance::append_all(std::vector<Message> messages) {
    std::vector<Append> batch;
    for (Message& message : messages) batch.push_back(item(std::move(message)));
    return store().append(batch);
}

Host StoreConformance::owner(int number) {
    Host host = this->host(number);
    host.take_all();
    return host;
}

Entry StoreConformance::only_row(const Host& host) {
    const std::vector<Entry> rows = host.scan();
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? Entry{} : rows.front();
}

std::vector<DeadLetterDetail> StoreConformance::letters(const Filter& filter) {
    return catalogue().dead_letters(filter, "", 1000).items;
}

}  // namespace waybill::test
