#include <atomic>
#include <latch>
#include <memory>

#include <gtest/gtest.h>

#include "support/faulty_store.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"
#include "support/store_decorator.hpp"
#include "waybill/intake.hpp"
#include "waybill/json/value.hpp"
#include "waybill/memory.hpp"
#include "waybill/providers.hpp"

/// What happens while a commit takes its time.
namespace waybill::test {
namespace {

class SlowStore final : public StoreDecorator {
public:
    using StoreDecorator::StoreDecorator;
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        gate.pass();
        return StoreDecorator::append(batch);
    }
    Gate gate{};
};

/// Counts how often it was asked.
class CountingProvider final : public Provider {
public:
    std::string_view key() const override { return "counting"; }
    Problems check(const Source&) const override { return {}; }
    Verdict receive(const Arrival& arrival) const override {
        ++asked;
        if (arrival.request.body == "throw") throw std::runtime_error{"a bug"};
        return Parsed{.type = "t", .id = arrival.request.body, .id_is_signed = true};
    }
    mutable std::atomic<int> asked{0};
};

class IntakeWaiting : public testing::Test {
protected:
    IntakeWaiting() { app.inbox("inbox"); }

    static HttpRequest request(const std::string& id) {
        return {.method = "POST", .target = "/webhooks/any", .body = id};
    }

    std::unique_ptr<memory::MemoryStore> memory = memory::open();
    SlowStore store{*memory};
    Waybill app{{.store = borrowed(store), .append_waiting_max = 4}};
    std::shared_ptr<CountingProvider> provider = std::make_shared<CountingProvider>();
    Intake intake{app, {{.name = "any", .provider = "counting"}}, {.providers = {provider}}};
};

TEST_F(IntakeWaiting, NobodyIsAnsweredBeforeTheCommit) {
    std::atomic<int> accepted{0};
    std::latch answers{3};
    for (const char* id : {"1", "2", "3"}) {
        intake.handle(request(id), [&](const HttpResponse& response, const IntakeReport&) {
            accepted += response.status == 202 ? 1 : 0;
            answers.count_down();
        });
    }
    ASSERT_TRUE(store.gate.wait_for_arrivals(1));

    EXPECT_EQ(accepted, 0);
    EXPECT_FALSE(answers.try_wait());
    store.gate.open();
    answers.wait();
    EXPECT_EQ(accepted, 3);
}

TEST_F(IntakeWaiting, AFullQueueIsShedBeforeAnythingIsVerified) {
    std::latch answers{5};
    const auto answered = [&](const HttpResponse&, const IntakeReport&) { answers.count_down(); };
    intake.handle(request("first"), answered);
    ASSERT_TRUE(store.gate.wait_for_arrivals(1));
    for (const char* id : {"1", "2", "3", "4"}) intake.handle(request(id), answered);
    const int asked = provider->asked;

    const HttpResponse shed = intake.handle(request("5"));

    EXPECT_EQ(shed.status, 503U);
    EXPECT_EQ(*shed.headers.find("Retry-After"), "5");
    EXPECT_NE(shed.body.find("overloaded"), std::string::npos);
    EXPECT_EQ(provider->asked, asked);
    store.gate.open();
    answers.wait();
    EXPECT_EQ(memory->count({}), 5U);
}

TEST_F(IntakeWaiting, TheEndWaitsForAnswersUnderWay) {
    std::atomic<bool> answered{false};
    {
        Intake brief{app, {{.name = "any", .provider = "counting"}}, {.providers = {provider}}};
        brief.handle(request("1"),
                     [&](const HttpResponse&, const IntakeReport&) { answered = true; });
        ASSERT_TRUE(store.gate.wait_for_arrivals(1));
        store.gate.open();
    }
    EXPECT_TRUE(answered);
}

TEST_F(IntakeWaiting, AProviderThatThrowsIsAnsweredForAndNothingIsStored) {
    const HttpResponse response = intake.handle(request("throw"));

    EXPECT_EQ(response.status, 500U);
    EXPECT_EQ(response.body.find("a bug"), std::string::npos);
    EXPECT_EQ(memory->count({}), 0U);
}

TEST_F(IntakeWaiting, ManyAtOnceAreEachAnsweredAndDoublesAreStoredOnce) {
    store.gate.open();
    Waybill wide{{.store = borrowed(store)}};
    wide.inbox("inbox");
    Intake other{wide, {{.name = "any", .provider = "counting"}}, {.providers = {provider}}};
    std::atomic<int> fresh{0};
    std::atomic<int> double_ones{0};

    run_together(8, [&](int) {
        for (int i = 0; i < 50; ++i) {
            const unsigned status = other.handle(request(std::to_string(i))).status;
            fresh += status == 202 ? 1 : 0;
            double_ones += status == 200 ? 1 : 0;
        }
    });

    EXPECT_EQ(fresh, 50);
    EXPECT_EQ(double_ones, 350);
    EXPECT_EQ(memory->count({}), 50U);
}

TEST_F(IntakeWaiting, AKeyThatIsTakenIsRefused) {
    const auto github = providers::compose(
        "GitHub", [](const Arrival&) { return std::nullopt; },
        [](const Arrival&) -> Verdict { return Parsed{.type = "t"}; });
    EXPECT_THROW((Intake{app, {}, {.providers = {github}}}), ConfigError);
    EXPECT_THROW((Intake{app, {}, {.providers = {provider, provider}}}), ConfigError);
}

}  // namespace
}  // namespace waybill::test
