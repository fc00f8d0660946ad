#include <gtest/gtest.h>

#include "support/manual_clock.hpp"
#include "waybill/memory.hpp"

/// What is true of the memory store alone; what all stores promise is in conformance/store.
namespace waybill::memory {
namespace {

class MemoryStoreTest : public testing::Test {
protected:
    MemoryStoreTest() { store_->declare({&box_, 1}, {}); }

    AppendResult append(std::uint8_t number, const std::string& key = "") {
        Message message{.box = "orders", .type = "order.placed", .dedup_key = key};
        message.id.bytes[0] = number;
        const Append item{.message = std::make_shared<const Message>(message)};
        return store_->append({&item, 1}).front();
    }

    test::ManualClock clock_{};
    BoxDeclaration box_{.name = "orders"};
    std::unique_ptr<MemoryStore> store_ = open(clock_);
};

TEST_F(MemoryStoreTest, AnAppendWakesEveryOtherConnectionAtOnce) {
    const auto first = store_->connect();
    const auto second = store_->connect();
    int woken_first = 0;
    int woken_second = 0;
    first->on_wake([&] { ++woken_first; });
    second->on_wake([&] { ++woken_second; });
    int woken_self = 0;
    store_->on_wake([&] { ++woken_self; });

    append(1);

    EXPECT_EQ(woken_first, 1);
    EXPECT_EQ(woken_second, 1);
    EXPECT_EQ(woken_self, 0);
}

TEST_F(MemoryStoreTest, ADuplicateWakesNobody) {
    append(1, "k");
    int woken = 0;
    const auto other = store_->connect();
    other->on_wake([&] { ++woken; });

    append(2, "k");

    EXPECT_EQ(woken, 0);
}

TEST_F(MemoryStoreTest, ACommandWakesTheOwner) {
    const Uuid id = append(1).id;
    int woken = 0;
    store_->on_wake([&] { ++woken; });

    store_->command({.kind = Command::Kind::cancel, .message = id});

    EXPECT_EQ(woken, 1);
}

TEST_F(MemoryStoreTest, TheDataOutlivesTheConnectionThatOpenedIt) {
    const Uuid id = append(1).id;
    const auto second = store_->connect();

    store_.reset();

    EXPECT_TRUE(second->get(id).has_value());
}

TEST_F(MemoryStoreTest, ABodyIsSharedAndNotCopied) {
    const auto message = std::make_shared<const Message>(
        Message{.id = {{9}}, .box = "orders", .type = "order.placed", .body = "large"});
    const Append item{.message = message};

    store_->append({&item, 1});

    EXPECT_EQ(store_->get(message->id)->summary.message, message);
}

TEST_F(MemoryStoreTest, ABadNumberOfPartitionsIsRefusedWithAWordOnWhatToDo) {
    EXPECT_THROW(open(clock_, {.partitions = 0}), ConfigError);
    EXPECT_THROW(open(clock_, {.partitions = 1025}), ConfigError);
    EXPECT_TRUE(check(Options{.partitions = 1024}).empty());
}

}  // namespace
}  // namespace waybill::memory
