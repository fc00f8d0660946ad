/// The description of the HTTP interface and the interface itself are the same.

#include "server/openapi.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/fixture.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OpenApi, IsServedAndHasEveryRoute) {
    ServerUnderTest server;

    const auto answer = server.operate("GET", "/v1/openapi.json");
    const json::Value document = json::parse(answer->body);

    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(document.find("openapi")->as_string(), "3.1.0");
    for (const server::Route& route : server::routes()) {
        const json::Value* const path = document.find("paths")->find(route.path);
        ASSERT_NE(path, nullptr) << route.path;
        EXPECT_NE(path->find(route.method == "GET" ? "get" : "post"), nullptr) << route.path;
    }
}

TEST(OpenApi, EveryRouteItNamesIsThere) {
    ServerUnderTest server;
    for (const server::Route& route : server::routes()) {
        if (!route.needs_token) continue;
        std::string target{route.path};
        if (const std::size_t at = target.find("{id}"); at != std::string::npos) {
            target.replace(at, 4, "7");
        }

        const auto answer = server.operate(std::string{route.method}, target);

        EXPECT_THAT(answer->body, Not(HasSubstr("there is no " + std::string{route.method})))
            << target;
    }
}

TEST(OpenApi, TheReferenceNamesEveryRouteOfOperators) {
    std::ifstream file{WAYBILL_SOURCE_DIR "/docs/reference/operators.md"};
    const std::string page{std::istreambuf_iterator<char>{file}, {}};
    for (const server::Route& route : server::routes()) {
        std::string last{route.path.substr(route.path.rfind('/'))};
        if (last == "/{id}") last = "/ID";
        EXPECT_TRUE(!route.needs_token || page.find(last) != std::string::npos) << route.path;
    }
}

}  // namespace
}  // namespace waybill::test
