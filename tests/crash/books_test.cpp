#include "crash/books.hpp"

#include <gtest/gtest.h>

#include "waybill/memory.hpp"

/// The judge is judged: each promise is broken once, and the books must say so.
namespace waybill::crash {
namespace {

class BooksTest : public testing::Test {
protected:
    using Kind = Line::Kind;

    std::unique_ptr<memory::MemoryStore> store = memory::open();
    Books books;
    int next = 0;

    BooksTest() { store->declare(std::vector<BoxDeclaration>{{"orders", {}}, {"books", {}}}, {}); }

    /// Stored and acknowledged.
    std::string append(const Body& body) {
        Message message{.box = body.box, .type = "t", .body = body.text()};
        message.id.bytes[0] = static_cast<std::uint8_t>(++next);
        const Append item{.message = std::make_shared<const Message>(message)};
        store->append({&item, 1});
        const std::string id = to_string(message.id);
        books.hear({Kind::acknowledged, id, body.box, body.text(), ""});
        return id;
    }
    void hear(Kind kind, const std::string& id, const std::string& target, const Body& body,
              const std::string& detail = "1") {
        books.hear({kind, id, target, body.text(), detail});
    }
    bool blames(const std::string& what) const {
        for (const std::string& line : books.broken()) {
            if (line.find(what) != std::string::npos) return true;
        }
        return false;
    }
    static Body order(int number) { return {"orders", 1, 1, number}; }
};

TEST_F(BooksTest, AnOrderlyLifeIsNotBlamed) {
    for (int n = 0; n < 2; ++n) {
        const std::string id = append(order(n));
        hear(Kind::run, id, "bill", order(n));
        hear(Kind::well, id, "bill", order(n));
        hear(Kind::run, id, "receipt", order(n));
        hear(Kind::well, id, "receipt", order(n));
    }
    books.crashed();
    books.inspect(*store);
    EXPECT_TRUE(books.broken().empty()) << books.broken().front();
}

TEST_F(BooksTest, WhatIsAcknowledgedAndNotInTheFileIsLost) {
    books.hear({Kind::acknowledged, "01890000-0000-7000-8000-000000000001", "orders",
                order(1).text(), ""});
    books.inspect(*store);
    EXPECT_TRUE(blames("acknowledged and lost"));
}

TEST_F(BooksTest, WhatWasToldDoneAndIsStillOpenIsBlamed) {
    const std::string id = append(order(1));
    hear(Kind::done, id, "bill", order(1));
    books.inspect(*store);
    EXPECT_TRUE(blames("told over and not recorded"));
}

TEST_F(BooksTest, WhatWasToldDoneMayNotRunAgain) {
    const std::string id = append(order(1));
    hear(Kind::done, id, "bill", order(1));
    hear(Kind::run, id, "bill", order(1));
    EXPECT_TRUE(blames("ran after it was told over"));
}

TEST_F(BooksTest, WhatIsDoneTwiceIsBlamed) {
    const std::string id = append(order(1));
    hear(Kind::done, id, "bill", order(1));
    hear(Kind::done, id, "bill", order(1));
    EXPECT_TRUE(blames("over twice"));
}

TEST_F(BooksTest, TwoRunsOfOneDeliveryAtOnceAreBlamed) {
    const std::string id = append(order(1));
    hear(Kind::run, id, "bill", order(1));
    hear(Kind::run, id, "bill", order(1));
    EXPECT_TRUE(blames("runs twice at once"));
}

TEST_F(BooksTest, ALaneThatGoesBackIsBlamed) {
    const std::string first = append(order(1));
    const std::string second = append(order(2));
    hear(Kind::run, second, "bill", order(2));
    hear(Kind::run, first, "bill", order(1));
    EXPECT_TRUE(blames("ran after a younger one"));
}

TEST_F(BooksTest, ALaneThatGoesOnTooEarlyIsBlamed) {
    const std::string first = append(order(1));
    const std::string second = append(order(2));
    hear(Kind::run, first, "bill", order(1));
    hear(Kind::well, first, "bill", order(1));
    // Its receipt is missing.
    hear(Kind::run, second, "bill", order(2));
    EXPECT_TRUE(blames("was not over"));
}

TEST_F(BooksTest, ACrashThatIsCountedIsBlamed) {
    const std::string id = append(order(1));
    hear(Kind::run, id, "bill", order(1), "2");
    EXPECT_TRUE(blames("counted as a failure"));
}

TEST_F(BooksTest, WhatIsStillOpenAtTheEndIsBlamed) {
    append(order(1));
    books.close(*store, {});
    EXPECT_TRUE(blames("ended in state"));
}

TEST_F(BooksTest, ARowWithoutAMessageThatIsDoneIsBlamed) {
    books.close(*store, {{"business", {{"01890000-0000-7000-8000-000000000001", 1}}}});
    EXPECT_TRUE(blames("has a row in business and is not done"));
}

TEST_F(BooksTest, OneKeyWithTwoMessagesIsBlamed) {
    books.hear({Kind::acknowledged, append(order(1)), "orders", order(1).text(), "key"});
    books.hear({Kind::acknowledged, append(order(2)), "orders", order(2).text(), "key"});
    books.inspect(*store);
    EXPECT_TRUE(blames("one key, several messages"));
}

}  // namespace
}  // namespace waybill::crash
