/// GET /metrics over a real socket: the numbers, the format, and that nothing counted goes back.

#include <atomic>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/exposition.hpp"
#include "server/fixture.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;

const Source kPaid = source_named("stripe", "stripe");
const Source kChat = source_named("slack", "slack");

std::string paid(const std::string& id, const std::string& type = "invoice.paid") {
    return signed_post(kPaid,
                       R"({"id":")" + id + R"(","object":"event","type":")" + type + R"("})");
}

std::string handshake() {
    return signed_post(kChat, R"({"type":"url_verification","challenge":"x"})");
}

/// A target that fails twice, and then its delivery is dead.
server::TargetConfig failing_target() {
    server::TargetConfig config;
    config.target = {.box = "inbox", .key = "broken"};
    config.command = {"/bin/sh", "-c", "cat > /dev/null; exit 1"};
    config.options.retry.max_attempts = 2;
    config.options.retry.backoff.schedule = {std::chrono::milliseconds{10}};
    return config;
}

server::Config watched() {
    server::Config config;
    config.sources = {kPaid, kChat};
    config.targets = {log_target("log"), failing_target()};
    return config;
}

/// A page as a strict reader sees it.
struct ParsedMetrics {
    /// By name with labels, as written.
    std::map<std::string, double> samples{};
    /// By name.
    std::map<std::string, std::string> types{};
};

ParsedMetrics parse_metrics(const std::string& text) {
    static const std::regex sample{
        R"re(([a-z_]+)(\{[a-z_]+="([^"\\]|\\["\\n])*"(,[a-z_]+="([^"\\]|\\["\\n])*")*\})? ([0-9.]+))re"};
    static const std::regex help{"# HELP ([a-z_]+) [^ ].*"};
    static const std::regex type{"# TYPE ([a-z_]+) (counter|gauge)"};
    ParsedMetrics page;
    std::string current;
    std::string helped;
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        std::smatch parts;
        if (std::regex_match(line, parts, help)) {
            helped = parts[1];
        } else if (std::regex_match(line, parts, type)) {
            current = parts[1];
            EXPECT_EQ(helped, current) << "HELP comes before TYPE";
            EXPECT_TRUE(page.types.emplace(current, parts[2]).second) << "twice: " << line;
            EXPECT_EQ(parts[2] == "counter", current.ends_with("_total")) << line;
        } else if (std::regex_match(line, parts, sample)) {
            EXPECT_EQ(parts[1], current) << "not below its TYPE: " << line;
            const std::string name = line.substr(0, line.rfind(' '));
            EXPECT_TRUE(page.samples.emplace(name, std::stod(parts[6])).second)
                << "twice: " << line;
        } else {
            ADD_FAILURE() << "not a line of the format: " << line;
        }
    }
    return page;
}

std::set<std::string> families_named_in(const std::string& document) {
    std::ifstream file{WAYBILL_SOURCE_DIR + document};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    static const std::regex name{"(waybill|process)_[a-z_]+[a-z]"};
    std::set<std::string> named;
    for (std::sregex_iterator at{text.begin(), text.end(), name}, end; at != end; ++at) {
        named.insert(at->str());
    }
    EXPECT_FALSE(named.empty()) << document;
    return named;
}

class MetricsPage : public testing::Test {
protected:
    ParsedMetrics page() {
        const auto answer = client_.get("/metrics");
        EXPECT_EQ(answer->status, 200) << answer->body;
        return parse_metrics(answer->body);
    }
    /// A page on which this sample has come to a value.
    ParsedMetrics page_with(const std::string& sample, double value) {
        const LocalTime patience = later(system_clock().now(), std::chrono::seconds{60});
        ParsedMetrics last = page();
        while (last.samples[sample] < value && system_clock().now() < patience) last = page();
        EXPECT_EQ(last.samples[sample], value) << sample;
        return last;
    }
    int post(const std::string& request) { return HttpClient{server_.port()}.ask(request)->status; }

    ServerUnderTest server_{watched()};
    HttpClient client_{server_.port()};
};

std::string webhooks(const std::string& source, const std::string& outcome) {
    return "waybill_webhooks_total{source=\"" + source + "\",outcome=\"" + outcome + "\"}";
}

TEST_F(MetricsPage, IsInTheFormatThatPrometheusReads) {
    const auto answer = client_.get("/metrics");

    EXPECT_EQ(answer->headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const ParsedMetrics page = parse_metrics(answer->body);
    for (const auto& [family, type] : page.types) {
        EXPECT_FALSE(page.types.contains(family + "_total"))
            << "one name in OpenMetrics: " << family;
    }
    EXPECT_EQ(page.samples.at("waybill_engine_late"), 0);
    EXPECT_EQ(page.samples.at("waybill_store_reachable"), 1);
    EXPECT_EQ(page.samples.at("waybill_http_connections"), 1);
    EXPECT_EQ(page.samples.at("waybill_http_connections_max"), 10'000);
    EXPECT_EQ(page.samples.at("waybill_window_max_bytes"), 64 << 20);
    EXPECT_EQ(page.samples.at(webhooks("slack", "accepted")), 0) << "there before the first one";
    EXPECT_GT(page.samples.at("process_resident_memory_bytes"), 1 << 20);
    EXPECT_GT(page.samples.at("process_start_time_seconds"), 1.7e9);
}

TEST_F(MetricsPage, CountsWhatBecameOfEveryWebhookAndDelivery) {
    std::string bad = paid("evt_2");
    bad.back() = ' ';
    ASSERT_EQ(post(paid("evt_1")), 202);
    ASSERT_EQ(post(bad), 400);
    ASSERT_EQ(post(paid("evt_1")), 200);
    ASSERT_EQ(post(paid("evt_1", "invoice.void")), 200);
    ASSERT_EQ(post(handshake()), 200);
    ASSERT_EQ(HttpClient{server_.port()}.post("/webhooks/nobody", "{}")->status, 404);
    ASSERT_TRUE(server_.eventually("/v1/dead", "broken"));

    const auto samples = page_with("waybill_messages_finished_total", 1).samples;

    EXPECT_EQ(samples.at(webhooks("stripe", "accepted")), 1);
    EXPECT_EQ(samples.at(webhooks("stripe", "bad-signature")), 1);
    EXPECT_EQ(samples.at(webhooks("stripe", "duplicate")), 1);
    EXPECT_EQ(samples.at(webhooks("stripe", "conflict")), 1);
    EXPECT_EQ(samples.at(webhooks("stripe", "store-unavailable")), 0);
    EXPECT_EQ(samples.at(webhooks("slack", "handshake")), 1);
    EXPECT_EQ(samples.at(webhooks("slack", "accepted")), 0);
    EXPECT_EQ(samples.at(webhooks("", "not-found")), 1);
    EXPECT_EQ(samples.at("waybill_http_requests_total{status=\"202\"}"), 1);
    EXPECT_EQ(samples.at("waybill_http_requests_total{status=\"400\"}"), 1);
    EXPECT_EQ(samples.at("waybill_http_requests_total{status=\"404\"}"), 1);
    EXPECT_EQ(samples.at("waybill_attempts_started_total{target=\"broken\"}"), 2);
    EXPECT_EQ(samples.at("waybill_attempts_failed_total{target=\"broken\"}"), 2);
    EXPECT_EQ(samples.at("waybill_deliveries_died_total{target=\"broken\"}"), 1);
    EXPECT_EQ(samples.at("waybill_deliveries_done_total{target=\"broken\"}"), 0);
    EXPECT_EQ(samples.at("waybill_attempts_started_total{target=\"log\"}"), 1);
    EXPECT_EQ(samples.at("waybill_deliveries_done_total{target=\"log\"}"), 1);
    EXPECT_EQ(samples.at("waybill_deliveries_died_total{target=\"log\"}"), 0);
    EXPECT_EQ(samples.at("waybill_engine_events_total{event=\"reconciled\"}"), 0);
    EXPECT_EQ(samples.at("waybill_dead_letters"), 1);
}

TEST_F(MetricsPage, IsNotThereWhenTheConfigurationSaysSo) {
    server::Config config = server_.config();
    config.telemetry.prometheus = false;
    server_.server().reload(config);

    const auto answer = client_.get("/metrics");

    EXPECT_EQ(answer->status, 404);
    EXPECT_THAT(answer->body, HasSubstr(R"("code":"not-found")"));
}

TEST_F(MetricsPage, AReloadTakesNothingBackNotEvenOfASourceThatLeft) {
    ASSERT_EQ(post(paid("evt_1")), 202);
    ASSERT_EQ(post(handshake()), 200);
    page_with("waybill_messages_finished_total", 1);
    server::Config config = server_.config();
    config.sources = {kPaid, source_named("new", "stripe")};
    config.targets = {log_target("log"), log_target("second")};
    server_.server().reload(config);

    ASSERT_EQ(post(paid("evt_2")), 202);
    const auto samples = page_with("waybill_deliveries_done_total{target=\"second\"}", 1).samples;

    EXPECT_EQ(samples.at(webhooks("stripe", "accepted")), 2);
    EXPECT_EQ(samples.at(webhooks("new", "accepted")), 0);
    EXPECT_EQ(samples.at(webhooks("slack", "handshake")), 1);
    page_with("waybill_deliveries_done_total{target=\"log\"}", 2);
}

TEST_F(MetricsPage, NoCounterGoesBackWhileWebhooksComeAndConfigurationsChange) {
    std::atomic<bool> is_over{false};
    Background changes{[&](const std::stop_token&) {
        server::Config config = server_.config();
        for (int i = 0; i < 4; ++i) {
            config.targets = {log_target(i % 2 == 0 ? "other" : "log")};
            server_.server().reload(config);
        }
        is_over = true;
    }};
    std::map<std::string, double> highest;
    int accepted = 0;
    while (!is_over) {
        const auto answer = client_.ask(paid("evt_" + std::to_string(accepted)));
        if (answer->status == 202) ++accepted;
        const ParsedMetrics now = page();
        for (const auto& [name, value] : now.samples) {
            if (!name.substr(0, name.find('{')).ends_with("_total")) continue;
            EXPECT_GE(value, highest[name]) << name;
            highest[name] = value;
        }
    }
    changes.join();

    EXPECT_EQ(page().samples.at(webhooks("stripe", "accepted")), accepted);
}

TEST_F(MetricsPage, TheReferenceNamesEveryFamilyAndNoOther) {
    std::set<std::string> shown;
    for (const auto& [family, type] : page().types) shown.insert(family);

    EXPECT_EQ(families_named_in("/docs/reference/metrics.md"), shown);
    EXPECT_THAT(families_named_in("/docs/guides/server.md"),
                testing::Each(testing::AnyOfArray(shown)));
}

/// A store whose backup waits at a gate.
class SlowBackup final : public server::StoreAccess {
public:
    SlowBackup(std::unique_ptr<server::StoreAccess> inner, Gate& gate)
        : inner_(std::move(inner)), gate_(gate) {}
    StoreHandle connect() override { return inner_->connect(); }
    Notebook& notebook() override { return inner_->notebook(); }
    Schema schema() override { return inner_->schema(); }
    void migrate(std::uint32_t version) override { inner_->migrate(version); }
    void backup(const std::string& path) override {
        gate_.pass();
        inner_->backup(path);
    }

private:
    std::unique_ptr<server::StoreAccess> inner_;
    Gate& gate_;
};

TEST(Probes, AreAnsweredWhileAnOperatorsOrderTakesLong) {
    Gate gate;
    ServerUnderTest server{watched(), [&](std::unique_ptr<server::StoreAccess> store) {
                               return std::make_unique<SlowBackup>(std::move(store), gate);
                           }};
    std::optional<HttpAnswer> copied;
    Background order{[&](const std::stop_token&) {
        copied = server.operate("POST", "/v1/backup",
                                R"({"path":")" + server.folder().file("copy.db") + R"("})");
    }};
    const OpenAtTheEnd whatever_happens{gate};
    ASSERT_TRUE(gate.wait_for_arrivals(1));

    HttpClient watcher{server.port()};
    EXPECT_EQ(once_ready(server.port()).status, 200);
    EXPECT_EQ(watcher.get("/metrics")->status, 200);

    gate.open();
    order.join();
    EXPECT_EQ(copied->status, 200) << copied->body;
}

TEST(MetricsOfTheDoor, CountTheConnectionsItTurnedAway) {
    server::Config config = watched();
    config.server.connections_max = 2;
    config.server.connections_per_address = 1;
    ServerUnderTest server{config};
    HttpClient first{server.port()};
    ASSERT_EQ(first.get("/healthz")->status, 200);

    EXPECT_EQ(HttpClient{server.port()}.read()->status, 429);
    const ParsedMetrics one = parse_metrics(first.get("/metrics")->body);
    config.server.connections_per_address = 0;
    config.store = server.config().store;
    config.boxes = server.config().boxes;
    server.server().reload(config);
    HttpClient second{server.port()};
    ASSERT_EQ(second.get("/healthz")->status, 200);
    EXPECT_EQ(HttpClient{server.port()}.read()->status, 503);
    const ParsedMetrics both = parse_metrics(second.get("/metrics")->body);

    const std::string refused = "waybill_http_connections_refused_total";
    EXPECT_EQ(one.samples.at(refused + "{limit=\"connections_per_address\"}"), 1);
    EXPECT_EQ(one.samples.at(refused + "{limit=\"connections_max\"}"), 0);
    EXPECT_EQ(both.samples.at(refused + "{limit=\"connections_per_address\"}"), 1);
    EXPECT_EQ(both.samples.at(refused + "{limit=\"connections_max\"}"), 1);
    EXPECT_EQ(both.samples.at("waybill_http_connections"), 2);
    EXPECT_EQ(both.samples.at("waybill_http_connections_max"), 2);
}

TEST(MetricsText, EscapesWhatALabelMayNotHold) {
    server::Exposition text;

    text.counter("a_total", "Something.");
    text.sample(7, {{"one", "a\"b\\c\nd"}, {"two", ""}});

    EXPECT_EQ(text.take(),
              "# HELP a_total Something.\n# TYPE a_total counter\n"
              "a_total{one=\"a\\\"b\\\\c\\nd\",two=\"\"} 7\n");
}

}  // namespace
}  // namespace waybill::test
