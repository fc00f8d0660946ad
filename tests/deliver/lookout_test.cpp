#include "deliver/lookout.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/faulty_store.hpp"
#include "waybill/memory.hpp"

namespace waybill::deliver {
namespace {

using test::borrowed;
using test::FaultyStore;
using testing::ElementsAre;
using testing::IsEmpty;

/// Says what it is given, once.
class Said final : public SubscriptionReader {
public:
    std::optional<std::vector<Subscription>> read() override {
        return std::exchange(next, std::nullopt);
    }
    std::optional<std::vector<Subscription>> next{};
};

/// Cannot be read as often as it is told.
class TornNotebook final : public Notebook {
public:
    std::optional<std::string> note(const std::string&) override { return std::nullopt; }
    std::vector<Note> notes(const std::string&) override {
        if (torn-- > 0) throw StoreError{Reaction::reconnect, "torn"};
        return {};
    }
    void keep_note(const std::string&, const std::string&, StoreTime) override {}
    void drop_note(const std::string&) override {}
    int torn = 0;
};

class LookoutTest : public ::testing::Test {
protected:
    LookoutTest() {
        memory->declare(std::vector<BoxDeclaration>{{"outbox"}}, {});
        lookout.add(said);
    }
    static Subscription numbered(std::uint8_t number, std::string problem = {}) {
        Subscription one{.url = "https://a.example/", .problem = std::move(problem)};
        one.id.bytes[15] = number;
        return one;
    }
    std::vector<std::string> registered() {
        std::vector<std::string> keys;
        for (const Target& target : memory->targets()) keys.push_back(target.key);
        return keys;
    }

    std::shared_ptr<memory::MemoryStore> memory = memory::open();
    FaultyStore faulty{memory};
    StoreHandle store = borrowed(faulty);
    TornNotebook notebook{};
    SubscriptionBook book{notebook, store};
    Endpoints endpoints{};
    std::vector<std::string> told{};
    Lookout lookout{store, &book, endpoints,
                    [this](const SubscriptionNews& news) { told.push_back(news.text); }};
    std::shared_ptr<Said> said = std::make_shared<Said>();
    const std::string first = key_of(numbered(1));
};

TEST_F(LookoutTest, OneWhosePastCannotBeReadIsRegisteredAllTheSame) {
    said->next = {numbered(1)};
    notebook.torn = 1;

    EXPECT_FALSE(lookout.look_again());
    EXPECT_THAT(registered(), ElementsAre(first));
    EXPECT_TRUE(lookout.look_again()) << "it is news until it could be told";
}

TEST_F(LookoutTest, OneThatComesBackBeforeItCouldBeForgottenStays) {
    said->next = {numbered(1)};
    lookout.look();
    said->next = std::vector<Subscription>{};
    faulty.fail_next(FaultyStore::Call::catalogue, FaultyStore::Fault::before);
    EXPECT_THROW(lookout.look(), StoreError);

    said->next = {numbered(1)};
    lookout.look();

    EXPECT_THAT(registered(), ElementsAre(first));
}

TEST_F(LookoutTest, OneThatGoesBeforeItCouldBeRegisteredIsNotRegistered) {
    said->next = {numbered(1)};
    faulty.fail_next(FaultyStore::Call::declare, FaultyStore::Fault::before);
    EXPECT_THROW(lookout.look(), StoreError);

    said->next = std::vector<Subscription>{};
    lookout.look();

    EXPECT_THAT(registered(), IsEmpty());
}

TEST_F(LookoutTest, OneThatCannotBeUsedIsToldOnceHoweverOftenOthersChange) {
    said->next = {numbered(1, "sealed with another key"), numbered(2)};
    lookout.look();
    said->next = {numbered(1, "sealed with another key")};
    lookout.look();

    EXPECT_THAT(told, ElementsAre("sealed with another key"));
}

}  // namespace
}  // namespace waybill::deliver
