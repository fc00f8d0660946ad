/// What a sender is answered when there is too much, or the store cannot take it: over a real socket.

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sqlite3.h>

#include "server/fixture.hpp"
#include "sqlite/faulty_disk.hpp"
#include "support/gate.hpp"
#include "support/store_decorator.hpp"

namespace waybill::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const Source kCrowded = source_named("stripe", "stripe");

server::Config config_for_stripe() {
    server::Config config;
    config.sources = {kCrowded};
    config.targets = {log_target("log")};
    return config;
}

std::string event(int number) {
    const std::string id = "evt_" + std::to_string(number);
    return signed_post(kCrowded,
                       R"({"id":")" + id + R"(","object":"event","type":"invoice.paid"})");
}

bool is_readable(const HttpClient& client) {
    pollfd one{.fd = client.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 1) == 1;
}

/// The write lock of the file, in somebody else's hand.
class Lock {
public:
    explicit Lock(const std::string& file) {
        EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK);
        // Whatever the engine writes now and then may be in the way for a moment.
        sqlite3_busy_timeout(db_, 30'000);
        EXPECT_EQ(sqlite3_exec(db_, "begin immediate", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    ~Lock() { sqlite3_close(db_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    sqlite3* db_ = nullptr;
};

TEST(Overload, AFileLockedBySomebodyElseKeepsNobodyWaitingForLong) {
    constexpr int kSenders = 32;
    server::Config config = config_for_stripe();
    config.busy_timeout = milliseconds{500};
    ServerUnderTest server{config};
    std::vector<HttpClient> senders;
    for (int i = 0; i < kSenders; ++i) senders.emplace_back(server.port());
    {
        const Lock lock{server.store_file()};
        const LocalTime start = system_clock().now();

        for (int i = 0; i < kSenders; ++i) senders[static_cast<std::size_t>(i)].send(event(i));
        for (HttpClient& sender : senders) {
            const auto answer = sender.read();
            ASSERT_TRUE(answer);
            EXPECT_EQ(answer->status, 503) << answer->body;
            EXPECT_THAT(answer->body, HasSubstr("store-unavailable"));
            EXPECT_TRUE(answer->headers.contains("retry-after"));
        }
        // One after the other, with three tries each, it would be 48 seconds; together it is one or
        // two, and the rest is for a slow machine.
        EXPECT_LT(system_clock().now() - start, seconds{30});
    }
    EXPECT_EQ(senders[0].ask(event(0))->status, 202);
}

/// A store whose appends wait at a gate.
class GatedStore final : public StoreDecorator {
public:
    GatedStore(StoreHandle inner, Gate& gate)
        : StoreDecorator(inner.store()), inner_(std::move(inner)), gate_(gate) {}
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        gate_.pass();
        return StoreDecorator::append(batch);
    }

private:
    const StoreHandle inner_;
    Gate& gate_;
};

class GatedAccess final : public server::StoreAccess {
public:
    GatedAccess(std::unique_ptr<server::StoreAccess> inner, Gate& gate)
        : inner_(std::move(inner)), gate_(gate) {
        inner_->connect().upkeep()->migrate();  // a GatedStore has the one role
    }
    StoreHandle connect() override {
        // The first one is the operators' own.
        if (!std::exchange(is_open_, true)) return inner_->connect();
        return std::make_shared<GatedStore>(inner_->connect(), gate_);
    }
    Notebook& notebook() override { return inner_->notebook(); }
    Schema schema() override { return inner_->schema(); }
    void migrate(std::uint32_t version) override { inner_->migrate(version); }
    void backup(const std::string& path) override { inner_->backup(path); }

private:
    std::unique_ptr<server::StoreAccess> inner_;
    Gate& gate_;
    bool is_open_ = false;
};

TEST(Overload, AFullAppendQueueIs503WithRetryAfterAndWhatWaitsIsStillAccepted) {
    Gate gate;
    server::Config config = config_for_stripe();
    config.server.waiting_max = 1;
    ServerUnderTest server{config, [&](std::unique_ptr<server::StoreAccess> store) {
                               return std::make_unique<GatedAccess>(std::move(store), gate);
                           }};
    HttpClient first{server.port()};
    first.send(event(0));
    ASSERT_TRUE(gate.wait_for_arrivals(1));

    // One of them waits for its turn, and there is no room for the others.
    std::vector<HttpClient> others;
    for (int i = 1; i <= 3; ++i) others.emplace_back(server.port()).send(event(i));
    std::size_t waits = 0;
    std::vector<HttpAnswer> refused;
    while (refused.size() < 2) {
        for (std::size_t i = 0; i < others.size() && refused.size() < 2; ++i) {
            if (is_readable(others[i])) refused.push_back(others[i].read().value());
        }
    }
    EXPECT_THAT(HttpClient{server.port()}.get("/metrics")->body,
                HasSubstr("\nwaybill_appends_waiting 1\n"));
    gate.open();

    for (const HttpAnswer& answer : refused) {
        EXPECT_EQ(answer.status, 503) << answer.body;
        EXPECT_THAT(answer.body, HasSubstr("overloaded"));
        EXPECT_EQ(answer.headers.at("retry-after"), "5");
    }
    EXPECT_EQ(first.read()->status, 202);
    while (!is_readable(others[waits])) waits = (waits + 1) % others.size();
    EXPECT_EQ(others[waits].read()->status, 202);
    EXPECT_NE(server.operate("GET", "/v1/messages")->body.find("evt_0"), std::string::npos);
}

TEST(Overload, ACommitTheDiskDidNotConfirmIs503AndIsStoredOnceAfterARestart) {
    FaultyDisk disk;
    const TemporaryFolder folder;
    server::Config config = config_for_stripe();
    config.store = "sqlite:" + folder.file("kept.db");
    // What cannot be settled is not worth waiting for.
    config.engine.shutdown_timeout = seconds{1};
    {
        ServerUnderTest server{config};
        ASSERT_EQ(HttpClient{server.port()}.ask(event(1))->status, 202);
        disk.fail(FaultyDisk::Call::sync, SQLITE_IOERR_FSYNC);

        const auto unknown = HttpClient{server.port()}.ask(event(2));
        const auto after = HttpClient{server.port()}.ask(event(2));

        ASSERT_TRUE(unknown && after);
        EXPECT_EQ(unknown->status, 503) << unknown->body;
        EXPECT_TRUE(unknown->headers.contains("retry-after"));
        EXPECT_EQ(after->status, 503) << "nothing is acknowledged on a disk that failed";
        disk.repair();
    }
    ServerUnderTest again{config};

    const int status = HttpClient{again.port()}.ask(event(2))->status;
    EXPECT_TRUE(status == 202 || status == 200) << status;
    EXPECT_EQ(HttpClient{again.port()}.ask(event(2))->status, 200);
    EXPECT_EQ(HttpClient{again.port()}.ask(event(1))->status, 200)
        << "what was acknowledged is kept";
}

TEST(Overload, AFullDiskThatHasRoomAgainIsReadyAlthoughNobodyWrites) {
    FaultyDisk disk;
    ServerUnderTest server{config_for_stripe()};
    ASSERT_EQ(HttpClient{server.port()}.ask(event(1))->status, 202);
    ASSERT_TRUE(server.eventually("/v1/stats", R"("open":0)")) << "the engine has nothing to write";
    disk.fail(FaultyDisk::Call::write, SQLITE_FULL);

    const auto refused = HttpClient{server.port()}.ask(event(2));
    const auto during = HttpClient{server.port()}.get("/readyz");
    disk.repair();

    ASSERT_TRUE(refused && during);
    EXPECT_EQ(refused->status, 503);
    EXPECT_EQ(during->status, 503) << during->body;
    EXPECT_TRUE(server.eventually("/readyz", R"("status":"ready")"));
}

TEST(Overload, OneAddressOverItsRateIs429WithRetryAfter) {
    server::Config config = config_for_stripe();
    config.server.requests_per_address = 0.01;
    ServerUnderTest server{config};

    ASSERT_EQ(HttpClient{server.port()}.ask(event(1))->status, 202);
    const auto refused = HttpClient{server.port()}.ask(event(2));

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 429);
    EXPECT_THAT(refused->body, HasSubstr(R"("code":"too-many-requests")"));
    EXPECT_GE(std::stoi(refused->headers.at("retry-after")), 1);
    EXPECT_THAT(HttpClient{server.port()}.get("/metrics")->body,
                HasSubstr("waybill_http_requests_total{status=\"429\"} 1\n"))
        << "who watches is not counted";
    config = server.config();
    config.server.requests_per_address = 0;
    server.server().reload(config);
    EXPECT_EQ(HttpClient{server.port()}.ask(event(2))->status, 202) << "nothing of it was kept";
}

TEST(Overload, ABodyThatDripsIs408AndIsNotStored) {
    server::Config config = config_for_stripe();
    config.server.body_rate_min = 1ULL << 20;
    ServerUnderTest server{config};
    HttpClient dripping{server.port()};
    const std::string request = event(1);

    dripping.send(std::string_view{request}.substr(0, request.size() - 9));
    const auto answer = dripping.read();

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 408);
    EXPECT_THAT(answer->body, HasSubstr("slow-request"));
    EXPECT_EQ(server.operate("GET", "/v1/messages")->body, "{\"items\":[]}\n");
}

}  // namespace
}  // namespace waybill::test
