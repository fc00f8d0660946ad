#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "clock.hpp"
#include "providers/reading.hpp"
#include "waybill/providers.hpp"

/// Bodies that are rightly signed and strange, and what becomes of each.
namespace waybill::providers {
namespace {

using namespace std::string_literals;

Source mapped_source(const std::string& provider) {
    Source source{.name = provider, .provider = provider, .secrets = {"secret"}};
    if (provider == "generic") {
        source.event_id = "json:id";
        source.lane = "json:order.id";
        source.tenant = "json:/a~1b/0";
    }
    return source;
}

Verdict verdict_on(const std::string& provider, const std::string& body) {
    const Source source = mapped_source(provider);
    HttpRequest request{.method = "POST", .body = body};
    if (provider == "github") request.headers.add("X-GitHub-Event", "push");
    const auto signed_one = sign(request, source, "", kNow);
    return find(provider)->receive({*signed_one, source, kNow});
}

std::string type_or_code(const Verdict& verdict) {
    if (const auto* refused = std::get_if<Rejected>(&verdict)) {
        return std::string{to_string(refused->reason)};
    }
    return std::get<Parsed>(verdict).type;
}

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
}

std::vector<std::string> not_json() {
    std::vector<std::string> bodies{
        "",
        " ",
        "\0"s,
        "\xEF\xBB\xBF{\"type\":\"t\"}",
        "{",
        "}",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "[1 2]",
        "[\"a\"",
        "[\"a",
        "{\"type\"",
        "{\"type\":",
        "{\"type\":\"t\"",
        "{\"type\":\"t\",",
        "{\"type\":\"t\",}",
        "{\"type\" \"t\"}",
        "{\"type\"::\"t\"}",
        "{type:\"t\"}",
        "{'type':'t'}",
        "{\"type\":t}",
        "{1:1}",
        "{\"a\":1 \"b\":2}",
        "{,\"type\":\"t\"}",
        "{\"type\":\"t\"}}",
        "{\"type\":\"t\"} x",
        "{\"type\":\"t\"}{\"type\":\"t\"}",
        "{\"type\":\"t\"}\0"s,
        "{\"type\":\"t\"} // comment",
        "/* comment */ {\"type\":\"t\"}",
        "{\"type\":\"t\" /* comment */}",
        "# comment\n{}",
        "{\"type\":\"\x01\"}",
        "{\"type\":\"a\nb\"}",
        "{\"type\":\"a\tb\"}",
        "{\"type\":\"\0\"}"s,
        "{\"type\":\"\\x41\"}",
        "{\"type\":\"\\u12\"}",
        "{\"type\":\"\\u12G4\"}",
        "{\"type\":\"\\\"}",
        "{\"type\":\"\xFF\"}",
        "{\"type\":\"\xC0\xAF\"}",
        "{\"type\":\"\xED\xA0\x80\"}",
        "{\"type\":\"\xF4\x90\x80\x80\"}",
        "{\"type\":\"\xE2\x82\"}",
        "{\"\xFF\":1}",
        "\xFF\xFE{\0}\0"s,
        "tru",
        "TRUE",
        "nul",
        "None",
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "+1",
        "-",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "1.e1",
        "0x10",
        "1_000",
        "1,000",
        "{\"n\":01}",
        "{\"n\":.5}",
        "{\"n\":1.}",
        "{\"n\":+1}",
        "{\"n\":--1}",
        "{\"n\":1e}",
        "{\"n\":NaN}",
        "{\"n\":Infinity}",
        "{\"type\":1e400}",
        "{\"type\":\"\\ud800\"}",
        "{\"type\":\"\\udc00\\ud800\"}",
        "type=t&id=1",
        "<type>t</type>",
        "payload=%7B%7D",
        "\x1F\x8B\x08\x00\x00"s,
        nested(65, "[", "]"),
        nested(65, "{\"a\":", "}"),
        nested(10'000, "[", "]"),
        std::string(10'000, '['),
        std::string(10'000, '{'),
    };
    return bodies;
}

/// Good JSON that says no type, neither to the one nor to the other.
std::vector<std::string> without_type() {
    return {
        "{}",
        "[]",
        "[[]]",
        "[{}]",
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1",
        "1.5",
        "1e2",
        "12345678901234567890123456789012345678901234567890",
        "\"\"",
        "\"type\"",
        "\"\\ud83d\\ude00\"",
        "[{\"type\":\"t\"}]",
        "[\"type\",\"t\"]",
        "{\"Type\":\"t\"}",
        "{\"TYPE\":\"t\"}",
        "{\"type \":\"t\"}",
        "{\"\":\"t\"}",
        "{\"type\":\"\"}",
        "{\"type\":null}",
        "{\"type\":true}",
        "{\"type\":false}",
        "{\"type\":1.5}",
        "{\"type\":[]}",
        "{\"type\":[\"t\"]}",
        "{\"type\":{}}",
        "{\"type\":{\"type\":\"t\"}}",
        "{\"data\":{\"type\":\"t\"}}",
        "{\"t\\u0079pe2\":\"t\"}",
        " \r\n\t{ }\r\n ",
        nested(64, "[", "]"),
    };
}

struct Taken {
    std::string body{};
    std::string type{};
    std::string id{};
    std::string lane{};
    std::string tenant{};
};

/// Taken by the generic provider, whose id, lane and tenant are in the body.
std::vector<Taken> taken() {
    return {
        {R"({"type":"t"})", "t"},
        {R"({"type":"t","id":"1"})", "t", "1"},
        {R"({"type":"t","id":1})", "t", "1"},
        {R"({"type":"t","id":-1})", "t", "-1"},
        {R"({"type":"t","id":9223372036854775807})", "t", "9223372036854775807"},
        {R"({"type":"t","id":18446744073709551615})", "t", "18446744073709551615"},
        {R"({"type":"t","id":18446744073709551616})", "t", "18446744073709551616"},
        {R"({"type":"t","id":1180591620717411303424})", "t", "1180591620717411303424"},
        {R"({"type":"t","id":1180591620717411303425})", "t", "1180591620717411303425"},
        {R"({"type":"t","id":-9223372036854775808})", "t", "-9223372036854775808"},
        {R"({"type":"t","id":-9223372036854775809})", "t", "-9223372036854775809"},
        // Perhaps rounded: two events would become one.
        {R"({"type":"t","id":1e3})", "t", ""},
        {R"({"type":"t","id":1.8446744073709552e+19})", "t", ""},
        {R"({"type":"t","id":1.0})", "t", ""},
        {R"({"type":"t","id":1.5})", "t", ""},
        {R"({"type":"t","id":1.5e-3})", "t", ""},
        {R"({"type":"t","order":{"id":18446744073709551616}})", "t", "", "18446744073709551616"},
        {R"({"type":"t","id":""})", "t", ""},
        {R"({"type":"t","id":null})", "t", ""},
        {R"({"type":"t","id":true})", "t", ""},
        {R"({"type":"t","id":[]})", "t", ""},
        {R"({"type":"t","id":["1"]})", "t", ""},
        {R"({"type":"t","id":{}})", "t", ""},
        {R"({"type":"t","id":{"id":"1"}})", "t", ""},
        {R"({"type":1})", "1"},
        {R"({"type":0})", "0"},
        {R"({"type":" "})", " "},
        {R"({"type":"\u0074"})", "t"},
        {R"({"t\u0079pe":"t"})", "t"},
        {R"({"type":"\/"})", "/"},
        {R"({"type":"\ud83d\ude00"})", "\xF0\x9F\x98\x80"},
        {"{\"type\":\"\xF0\x9F\x98\x80\"}", "\xF0\x9F\x98\x80"},
        {R"({"type":"t","order":{"id":"o"}})", "t", "", "o"},
        {R"({"type":"t","order":{"id":7}})", "t", "", "7"},
        {R"({"type":"t","order":{"id":null}})", "t", "", ""},
        {R"({"type":"t","order":null})", "t", "", ""},
        {R"({"type":"t","order":"o"})", "t", "", ""},
        {R"({"type":"t","order":[]})", "t", "", ""},
        {R"({"type":"t","order":[{"id":"o"}]})", "t", "", ""},
        {R"({"type":"t","order":5})", "t", "", ""},
        {R"({"type":"t","order":{"Id":"o"}})", "t", "", ""},
        {R"({"type":"t","order.id":"o"})", "t", "", ""},
        {R"({"type":"t","a/b":["x"]})", "t", "", "", "x"},
        {R"({"type":"t","a/b":[1]})", "t", "", "", "1"},
        {R"({"type":"t","a/b":{"0":"x"}})", "t", "", "", "x"},
        {R"({"type":"t","a/b":[]})", "t", "", "", ""},
        {R"({"type":"t","a/b":"x"})", "t", "", "", ""},
        {R"({"type":"t","a":{"b":["x"]}})", "t", "", "", ""},
        {R"({"id":"1","type":"t","order":{"id":"o"},"a/b":["x"]})", "t", "1", "o", "x"},
        {"\r\n\t {\"type\" : \"t\"} \r\n", "t"},
        {R"({"type":"t","other":1,"other":2})", "t"},
        {R"({"type":"t","deep":)" + nested(60, "[", "]") + "}", "t"},
        {R"({"type":"t","long":")" + std::string(100'000, 'x') + "\"}", "t"},
        {R"({"type":"t","long":")" + std::string(5'000, '\\') + "\"}", "t"},
    };
}

/// A member that is asked for is there twice.
const std::array<const char*, 8> kAmbiguous{R"({"type":"t","type":"t"})",
                                            R"({"type":"t","type":"u"})",
                                            R"({"type":"t","t\u0079pe":"u"})",
                                            R"({"type":"t","id":"1","id":"2"})",
                                            R"({"type":"t","order":{"id":"1","id":"2"}})",
                                            R"({"type":"t","order":{},"order":{"id":"2"}})",
                                            R"({"type":"t","a/b":[],"a/b":[1]})",
                                            R"({"type":"t","id":null,"id":"1"})"};

TEST(ProviderJson, WhatIsNotJsonIsRefusedWhereTheTypeIsInIt) {
    for (const std::string& body : not_json()) {
        EXPECT_EQ(type_or_code(verdict_on("generic", body)), "unreadable-body")
            << body.substr(0, 50);
        EXPECT_EQ(type_or_code(verdict_on("stripe", body)), "unreadable-body")
            << body.substr(0, 50);
    }
}

TEST(ProviderJson, WhatIsNotJsonIsTakenWhereAHeaderSaysTheType) {
    for (const std::string& body : not_json()) {
        EXPECT_EQ(type_or_code(verdict_on("github", body)), "push") << body.substr(0, 50);
    }
}

TEST(ProviderJson, ADocumentWithoutATypeIsRefusedWhateverItIs) {
    for (const std::string& body : without_type()) {
        EXPECT_EQ(type_or_code(verdict_on("generic", body)), "missing") << body;
        EXPECT_EQ(type_or_code(verdict_on("stripe", body)), "missing") << body;
        EXPECT_EQ(type_or_code(verdict_on("github", body)), "push") << body;
    }
}

TEST(ProviderJson, WhatADocumentSaysIsTakenAndTheRestIsAbsent) {
    for (const Taken& one : taken()) {
        const Verdict verdict = verdict_on("generic", one.body);
        ASSERT_TRUE(std::holds_alternative<Parsed>(verdict)) << one.body << type_or_code(verdict);
        const auto& parsed = std::get<Parsed>(verdict);
        EXPECT_EQ(parsed.type, one.type) << one.body;
        EXPECT_EQ(parsed.id, one.id) << one.body;
        EXPECT_EQ(parsed.lane, one.lane) << one.body;
        EXPECT_EQ(parsed.tenant, one.tenant) << one.body;
        EXPECT_EQ(parsed.id_is_signed, !one.id.empty()) << one.body;
    }
}

TEST(ProviderJson, AMemberThatIsThereTwiceIsRefused) {
    for (const char* body : kAmbiguous) {
        EXPECT_EQ(type_or_code(verdict_on("generic", body)), "unreadable-body") << body;
    }
    EXPECT_EQ(type_or_code(verdict_on("github", R"({"repository":{},"repository":{}})")),
              "unreadable-body");
}

TEST(ProviderJson, ThereAreCasesEnough) {
    EXPECT_GE(
        3 * not_json().size() + 3 * without_type().size() + taken().size() + kAmbiguous.size(),
        400U);
}

TEST(ProviderJson, APathIsDottedOrAPointer) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(path_names("a"), (Names{"a"}));
    EXPECT_EQ(path_names("a.b.0"), (Names{"a", "b", "0"}));
    EXPECT_EQ(path_names("/a/b"), (Names{"a", "b"}));
    EXPECT_EQ(path_names("/a~1b/c~0d/~2/~"), (Names{"a/b", "c~d", "~2", "~"}));
    EXPECT_EQ(path_names("/"), (Names{""}));
    EXPECT_EQ(path_names("/a/"), (Names{"a", ""}));
    EXPECT_EQ(path_names("a..b"), (Names{"a", "", "b"}));
    EXPECT_EQ(path_names("a/b"), (Names{"a/b"}));
}

}  // namespace
}  // namespace waybill::providers
