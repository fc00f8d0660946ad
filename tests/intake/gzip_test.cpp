#include "intake/gzip.hpp"

#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "intake/fixture.hpp"
#include "support/gzip.hpp"

namespace waybill::test {
namespace {

constexpr const char* kZippedEvent = R"({"id":"evt_1","object":"event","type":"invoice.paid"})";
constexpr std::uint64_t kMax = 1'000'000;

/// "" or why it was refused.
std::string verdict(const std::string& bytes, std::uint64_t bytes_max = kMax) {
    const auto decoded = intake::decode_gzip(bytes, bytes_max);
    const auto* refused = std::get_if<intake::NotDecoded>(&decoded);
    if (refused == nullptr) return "";
    return refused->is_too_large ? "too large" : "broken";
}

/// Text that does not compress well, of that size.
std::string noise(std::size_t size) {
    std::string text;
    for (std::uint32_t state = 1; text.size() < size; state = state * 1'664'525 + 1'013'904'223) {
        text += static_cast<char>('!' + (state >> 24) % 90);
    }
    return text;
}

TEST(Gzip, WhatWasCompressedComesBack) {
    const std::array<std::string, 6> texts{
        "", "x", kZippedEvent, noise(100'000), std::string("\0\xFF\n", 3), std::string(4'000, 'a')};
    for (const std::string& text : texts) {
        const auto decoded = intake::decode_gzip(compressed(text), kMax);
        ASSERT_TRUE(std::holds_alternative<std::string>(decoded)) << text.size();
        EXPECT_EQ(std::get<std::string>(decoded), text);
    }
}

TEST(Gzip, WhatIsNotOneWholePieceIsRefused) {
    const std::string good = compressed(kZippedEvent);
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_EQ(verdict(good.substr(0, size)), "broken") << "only " << size << " bytes of it";
    }
    EXPECT_EQ(verdict(good + "x"), "broken") << "something follows";
    EXPECT_EQ(verdict(good + good), "broken") << "a second member follows";
    EXPECT_EQ(verdict(kZippedEvent), "broken") << "not compressed at all";
    EXPECT_EQ(verdict(compressed(kZippedEvent, 15)), "broken") << "zlib";
    EXPECT_EQ(verdict(compressed(kZippedEvent, -15)), "broken") << "bare deflate";
    for (const std::size_t at : {0U, 1U, 2U}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x40);
        EXPECT_EQ(verdict(bad), "broken") << "byte " << at << " of its head";
    }
    for (std::size_t at = good.size() - 8; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        EXPECT_EQ(verdict(bad), "broken") << "byte " << at << ", of its check sum or length";
    }
}

TEST(Gzip, ABombIsNotUnpacked) {
    EXPECT_EQ(verdict(compressed(std::string(10'000'000, '\0'))), "too large");
    EXPECT_EQ(verdict(compressed(std::string(900'000, '\0'))), "too large") << "a thousandfold";
    EXPECT_EQ(verdict(compressed(std::string(4'096, '\0'))), "") << "small enough for any ratio";
    EXPECT_EQ(verdict(compressed(std::string(8'000, '\0'))), "too large");
    EXPECT_EQ(verdict(compressed(noise(1'001)), 1'000), "too large") << "one byte over the limit";
    EXPECT_EQ(verdict(compressed(noise(1'000)), 1'000), "") << "exactly the limit";
}

class IntakeGzip : public IntakeTest {
protected:
    void take(Gzip gzip) {
        std::vector<Source> with = sources();
        for (Source& source : with) source.gzip = gzip;
        intake.replace_sources(with);
    }
    static HttpRequest encoded(HttpRequest request, const std::string& encoding = "gzip") {
        request.headers.add("Content-Encoding", encoding);
        return request;
    }
};

TEST_P(IntakeGzip, ABodyThatIsSignedAsItWasSentIsStoredAsWhatWasInside) {
    take(Gzip::signed_as_sent);

    const HttpResponse first =
        intake.handle(encoded(signed_by("stripe", compressed(kZippedEvent))));
    const HttpResponse again = intake.handle(signed_by("stripe", kZippedEvent));
    HttpRequest signed_inside = signed_by("stripe", kZippedEvent);
    signed_inside.body = compressed(kZippedEvent);

    EXPECT_EQ(first.status, 202U) << first.body;
    EXPECT_EQ(again.status, 200U) << "the same event, not compressed";
    EXPECT_EQ(only_message().body, kZippedEvent);
    EXPECT_EQ(only_message().type, "invoice.paid");
    EXPECT_EQ(code_in(intake.handle(encoded(signed_inside))), "bad-signature");
}

TEST_P(IntakeGzip, ABodyThatWasSignedBeforeItWasCompressedIsStoredToo) {
    take(Gzip::signed_inside);
    HttpRequest signed_inside = signed_by("stripe", kZippedEvent);
    signed_inside.body = compressed(kZippedEvent);

    EXPECT_EQ(code_in(intake.handle(encoded(signed_by("stripe", compressed(kZippedEvent))))),
              "bad-signature");
    EXPECT_EQ(intake.handle(encoded(signed_inside)).status, 202U);
    EXPECT_EQ(only_message().body, kZippedEvent);
}

TEST_P(IntakeGzip, WhatIsNotGzipWithinItsBoundsIsRefusedAndNotStored) {
    for (const Gzip kind : {Gzip::signed_as_sent, Gzip::signed_inside}) {
        take(kind);
        const std::string good = compressed(kZippedEvent);
        const std::pair<HttpRequest, unsigned> cases[]{
            {encoded(signed_by("stripe", compressed(std::string(5'000'000, ' ')))), 413},
            {encoded(signed_by("stripe", compressed(std::string(900'000, ' ')))), 413},
            {encoded(signed_by("stripe", good.substr(0, 20))), 400},
            {encoded(signed_by("stripe", good + "x")), 400},
            {encoded(signed_by("stripe", kZippedEvent)), 400},
            {encoded(signed_by("stripe", "")), 400},
            {encoded(signed_by("stripe", good), "gzip, gzip"), 415},
            {encoded(encoded(signed_by("stripe", good))), 415},
            {encoded(signed_by("stripe", good), "deflate"), 415},
            {encoded(signed_by("stripe", good), "br"), 415},
            {encoded(signed_by("stripe", compressed(good))), 400}};
        for (const auto& [request, status] : cases) {
            const HttpResponse response = intake.handle(request);
            EXPECT_EQ(response.status, status) << response.body;
        }
    }
    take(Gzip::refused);
    EXPECT_EQ(intake.handle(encoded(signed_by("stripe", compressed(kZippedEvent)))).status, 415U);
    EXPECT_EQ(stored(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Stores, IntakeGzip, testing::ValuesIn(intake_stores()), intake_store_name);

}  // namespace
}  // namespace waybill::test
