#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "waybill/catalogue.hpp"
#include "waybill/inline.hpp"
#include "waybill/notebook.hpp"
#include "waybill/store.hpp"
#include "waybill/upkeep.hpp"

/// What every store is put through. A store joins with one entry in stores.cpp; the tests know only
/// the seams.
namespace waybill::test {

using namespace std::chrono_literals;

/// One host's way into the store under test.
struct Connection {
    std::shared_ptr<void> owner{};
    Store* store = nullptr;
    Catalogue* catalogue = nullptr;
    Upkeep* upkeep = nullptr;
    /// Null: the store has no inline transactions.
    InlineStore* inline_store = nullptr;
    Notebook* notebook = nullptr;
};

/// An empty store whose clock is in the test's hand.
class StoreUnderTest {
public:
    virtual ~StoreUnderTest() = default;
    /// Another host connects to the same data.
    virtual Connection connect() = 0;
    /// Moves the store's clock; back, too.
    virtual void advance(Duration by) = 0;
    /// Writes in the transaction of an inline body, through its native handle.
    virtual void append_inside(void* native, const Append& item) = 0;
};

struct StoreEntry {
    std::string name{};
    std::function<std::unique_ptr<StoreUnderTest>()> make{};

    friend void PrintTo(const StoreEntry& entry, std::ostream* out) { *out << entry.name; }
};

/// stores.cpp
std::vector<StoreEntry> stores_under_test();
inline std::string store_name(const testing::TestParamInfo<StoreEntry>& test) {
    return test.param.name;
}

/// An instance as the tests drive it: one connection, one incarnation, the partitions it took.
class Host {
public:
    Host(Connection connection, int number);

    Store& store() const { return *connection_.store; }
    const Connection& connection() const { return connection_; }
    const Uuid& incarnation() const { return state.incarnation; }

    /// What it says with its next beat.
    InstanceState state{};
    BeatReply beat();
    /// Beats, and takes everything it sees that has no living owner.
    std::vector<Taken> take_all();
    std::vector<Taken> take(const PartitionState& seen);
    void give(const Taken& taken, const Uuid& heir = {});

    Fence fence(PartitionId partition) const;
    std::vector<PartitionId> partitions() const;
    /// Of the box "orders" when it has one partition.
    PartitionId partition() const { return partitions().front(); }
    std::vector<Taken> taken{};

    /// All pages of all its partitions.
    std::vector<Entry> scan() const;
    /// All pages since the last time; the first call only takes the position.
    std::vector<Entry> increment();
    /// One page.
    ReadPage read(ReadRequest request) const { return store().read(request); }
    std::vector<Command> commands() const;

    SettleReply settle(std::vector<Settlement> items,
                       std::vector<CommandResult> answers = {}) const;
    SettleReply finish(const Entry& entry) const;
    /// The delivery of `target` dies; the row goes.
    SettleReply die(const Entry& entry, const std::string& target) const;
    /// The delivery dies at the head of its lane, which stops there.
    SettleReply halt(const Entry& entry, const std::string& target) const;
    SettleReply park(const Entry& entry, bool parked = true) const;

private:
    Connection connection_;
    Position position_{};
    /// As its last beat told.
    std::uint64_t registry_version_ = 0;
};

/// The row stays as it is.
Settlement unchanged(const Entry& entry);
Settlement finished(const Entry& entry);
DeadLetter dead_letter(const Entry& entry, const std::string& target,
                       const std::string& reason = "broken");
Attempt attempt(const Entry& entry, const std::string& target, std::uint32_t number,
                const std::string& error = "broken");

/// A row with its message by value: two reads of one row are the same, whoever holds their messages.
struct RowValue {
    Entry entry{};
    Message message{};
    bool operator==(const RowValue&) const = default;
};
RowValue value_of(Entry entry);
std::vector<RowValue> values_of(const std::vector<Entry>& entries);
std::vector<Sequence> sequences(const std::vector<Entry>& entries);
std::vector<std::string> bodies(const std::vector<Entry>& entries);
Uuid id_of(int number);

class StoreConformance : public testing::TestWithParam<StoreEntry> {
protected:
    StoreConformance();

    Store& store() { return *here_.store; }
    Catalogue& catalogue() { return *here_.catalogue; }
    Notebook& notebook() { return *here_.notebook; }
    Upkeep& upkeep() { return *here_.upkeep; }
    StoreUnderTest& under_test() { return *under_test_; }
    void advance(Duration by) { under_test_->advance(by); }
    StoreTime now();

    /// A box with one partition, unless told otherwise.
    void declare_box(BoxOptions options = {}, const std::string& name = "orders");
    void declare_target(const Target& target);
    Swept sweep(std::uint32_t rows_max = 1000);

    /// Order number n of the box "orders"; its body says "order n".
    Message order(int number, const std::string& lane = "") const;
    /// Carries a dedup key.
    Message keyed(int number, const std::string& key, const std::string& body = "same") const;
    Append item(Message message) const;
    AppendResult append(Message message);
    std::vector<AppendResult> append_all(std::vector<Message> messages);

    Connection connect() { return under_test_->connect(); }
    Host host(int number) { return {under_test_->connect(), number}; }
    /// Alive, and the owner of every partition.
    Host owner(int number = 1);
    /// The only open row of the owner's partition.
    Entry only_row(const Host& host);
    std::vector<DeadLetterDetail> letters(const Filter& filter = {});

private:
    std::unique_ptr<StoreUnderTest> under_test_;
    Connection here_;
    std::vector<BoxDeclaration> boxes_{};
};

/// For promises that only concern stores which several hosts share.
#define WAYBILL_NEEDS_MANY_INSTANCES()                                                     \
    if (!store().capabilities().many_instances) {                                          \
        GTEST_SKIP() << GetParam().name << " is owned by one process at a time: left out"; \
    }

}  // namespace waybill::test
