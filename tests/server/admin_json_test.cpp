#include "server/admin_json.hpp"

#include <gtest/gtest.h>

/// What people see of a message.
namespace waybill::test {
namespace {

std::string shown(const std::string& detail) {
    MessageDetail message{.summary = {.message = std::make_shared<const Message>()}};
    message.attempts = {{.target = "billing", .error = "no", .detail = detail}};
    const json::Value value = server::to_json(message, {});
    const json::Value& attempt = value.find("attempts")->as_array().at(0);
    const json::Value* const found = attempt.find("detail");
    return found == nullptr ? "nothing" : json::to_text(*found);
}

TEST(AdminJson, WhatAnExecutorSaidOfAnAttemptIsShownAsTheObjectItIs) {
    EXPECT_EQ(shown(R"({"status":500,"headers":[["a","b"]]})"),
              R"({"status":500,"headers":[["a","b"]]})");
}

TEST(AdminJson, ADetailThatIsNoJsonIsShownAsText) {
    EXPECT_EQ(shown("{\"status\":"), R"("{\"status\":")");
}

TEST(AdminJson, AnAttemptOfWhichNothingIsSaidHasNoDetail) {
    EXPECT_EQ(shown(""), "nothing");
}

}  // namespace
}  // namespace waybill::test
