#include "waybill/http.hpp"

#include <gtest/gtest.h>

#include "core/credentials.hpp"

namespace waybill {
namespace {

TEST(HttpHeaders, NamesHaveNoCaseAndTheOrderStays) {
    HttpHeaders headers{{"B", "1"}, {"a", "2"}, {"b", "3"}};

    EXPECT_EQ(*headers.find("b"), "1");
    EXPECT_EQ(*headers.find("A"), "2");
    EXPECT_EQ(headers.find("c"), nullptr);
    EXPECT_EQ(headers.count("b"), 2U);

    headers.set("b", "4");
    EXPECT_EQ(headers, (HttpHeaders{{"a", "2"}, {"b", "4"}}));
}

TEST(HttpRequest, ATargetIsAPathAndAQuery) {
    EXPECT_EQ(HttpRequest{.target = "/a?b=c?d"}.path(), "/a");
    const HttpRequest request{.target = "/a?b=c?d"};
    EXPECT_EQ(request.query(), "b=c?d");
    EXPECT_EQ(HttpRequest{.target = "/a"}.query(), "");
    EXPECT_EQ(HttpRequest{.target = "/a?"}.query(), "");
}

TEST(Credentials, TheNameOfTheSchemeHasNoCase) {
    EXPECT_EQ(credentials("Bearer token", "Bearer"), "token");
    EXPECT_EQ(credentials("bearer token", "Bearer"), "token");
    EXPECT_EQ(credentials("BEARER   token", "Bearer"), "token");
    EXPECT_EQ(credentials("Bearer ", "Bearer"), "");
    EXPECT_EQ(credentials("Bearer", "Bearer"), std::nullopt);
    EXPECT_EQ(credentials("Bearertoken", "Bearer"), std::nullopt);
    EXPECT_EQ(credentials("Basic token", "Bearer"), std::nullopt);
    EXPECT_EQ(credentials("", "Bearer"), std::nullopt);
}

TEST(Form, FieldsAreDecoded) {
    EXPECT_EQ(form_fields("a=1&b=x+y%2Bz&&c&d==&a=2"),
              (FormFields{{"a", "1"}, {"b", "x y+z"}, {"c", ""}, {"d", "="}, {"a", "2"}}));
    EXPECT_EQ(form_fields(""), FormFields{});
    EXPECT_EQ(form_field("a=1&a=2", "a"), "1");
    EXPECT_EQ(form_field("a=1", "b"), std::nullopt);
    EXPECT_EQ(form_field("hub.mode=x", "hub.mode"), "x");
}

TEST(Form, ABrokenEscapeBreaksTheForm) {
    for (const char* form : {"a=%", "a=%1", "a=%G1", "a=%1G", "%=1", "a=1&b=%2"}) {
        EXPECT_EQ(form_fields(form), std::nullopt) << form;
    }
}

}  // namespace
}  // namespace waybill
