#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/intake.hpp"
#include "waybill/json/value.hpp"
#include "waybill/memory.hpp"
#include "waybill/providers.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/testkit/faulty_store.hpp"

namespace waybill::test {

/// A store of a kind, and what it needs to live.
struct IntakeStore {
    std::string name{};
    std::function<StoreHandle(const TemporaryFolder&)> open{};
};

/// An application that is not started, sources of several providers, and a clock that stands still.
class IntakeTest : public testing::TestWithParam<IntakeStore> {
protected:
    IntakeTest() {
        clock.step_wall(std::chrono::seconds{kNow});
        app.inbox("inbox");
        app.upkeep().migrate();  // or there is nothing to count in before the first append
    }

    static constexpr std::int64_t kNow = 1'700'000'000;
    static constexpr const char* kSecret = "a-secret-of-the-test";

    static std::vector<Source> sources() {
        return {
            {.name = "stripe", .provider = "stripe", .secrets = {"an-old-one", kSecret}},
            {.name = "github",
             .provider = "github",
             .secrets = {kSecret},
             .path = "/hooks/from-github"},
            {.name = "meta", .provider = "meta", .secrets = {kSecret}, .verify_token = "let-me-in"},
            {.name = "dropbox", .provider = "dropbox", .secrets = {kSecret}},
            {.name = "local", .provider = "none"},
            {.name = "acme",
             .provider = "generic",
             .secrets = {kSecret},
             .event_id = "header:X-Acme-Id",
             .lane = "json:order.id",
             .tenant = "header:X-Acme-Tenant"}};
    }

    /// As its sender would post it.
    HttpRequest signed_by(const std::string& name, std::string body, const std::string& id = {}) {
        HttpRequest request{
            .method = "POST", .target = "/webhooks/" + name, .body = std::move(body)};
        request.headers.add("Content-Type", "application/json");
        if (name == "github") request.headers.add("X-GitHub-Event", "push");
        if (name == "acme") request.headers.add("X-Acme-Id", id);
        Source source;
        for (const Source& one : sources()) {
            if (one.name == name) source = one;
        }
        source.secrets = {kSecret};
        return *providers::sign(std::move(request), source, id, clock.wall());
    }

    std::uint64_t stored() { return app.catalogue().count({}); }
    Message only_message() {
        const auto page = app.catalogue().browse({}, {}, 10);
        EXPECT_EQ(page.items.size(), 1U);
        return page.items.empty() ? Message{} : *page.items.front().message;
    }
    static std::string id_in(const HttpResponse& response) {
        return json::parse(response.body).find("id")->as_string();
    }
    static std::string status_in(const HttpResponse& response) {
        return json::parse(response.body).find("status")->as_string();
    }
    static std::string code_in(const HttpResponse& response) {
        return json::parse(response.body).find("error")->find("code")->as_string();
    }

    TemporaryFolder folder{};
    ManualClock clock{};
    std::shared_ptr<testkit::FaultyStore> store =
        std::make_shared<testkit::FaultyStore>(GetParam().open(folder));
    Waybill app{{.store = store}};
    Intake intake{app, sources(), {.clock = &clock}};
};

inline std::string intake_store_name(const testing::TestParamInfo<IntakeStore>& info) {
    return info.param.name;
}

inline std::vector<IntakeStore> intake_stores() {
    return {{"memory", [](const TemporaryFolder&) -> StoreHandle { return memory::open(); }},
            {"sqlite", [](const TemporaryFolder& folder) -> StoreHandle {
                 return sqlite::open(folder.file("store.db"));
             }}};
}

}  // namespace waybill::test
