#include <gtest/gtest.h>

#include "support/http_client.hpp"
#include "transport/framing_table.hpp"
#include "transport/http_in/http_in.hpp"

namespace waybill::test {
namespace {

using http_in::RequestReader;

/// What the table calls an answer.
std::string told(const HttpAnswer& answer) {
    if (answer.status == 200) return "200=" + answer.body;
    const std::size_t code = answer.body.find(R"("code":")");
    if (code == std::string::npos) return std::to_string(answer.status) + "=?";
    const std::size_t from = code + 8;
    return std::to_string(answer.status) + "=" +
           answer.body.substr(from, answer.body.find('"', from) - from);
}

std::string seen(const HttpRequest& request) {
    return request.method + " " + request.target + (request.body.empty() ? "" : " ") + request.body;
}

http_in::Options table_options() {
    http_in::Options options{.port = 0};
    options.request = {.header_bytes_max = 2048,
                       .fields_max = 20,
                       .body_bytes_max = 64,
                       .chunk_line_bytes_max = 128};
    return options;
}

/// The verdicts of the reader alone, fed in pieces of this size.
std::vector<std::string> read_in_pieces(const FramingCase& one, std::size_t piece, bool& open) {
    const http_in::Options options = table_options();
    RequestReader reader{options.request};
    std::vector<std::string> answers;
    std::string_view rest = one.bytes;
    open = true;
    while (!rest.empty() && open) {
        std::string_view now = rest.substr(0, piece);
        rest.remove_prefix(now.size());
        while (!now.empty() && open) {
            now.remove_prefix(reader.read(now));
            if (reader.state() == RequestReader::State::refused) {
                answers.push_back(std::to_string(reader.refusal().status) + "=" +
                                  std::string{reader.refusal().code});
                open = false;
            } else if (reader.state() == RequestReader::State::complete) {
                open = reader.keep_alive();
                answers.push_back("200=" + seen(reader.take()));
            }
        }
    }
    return answers;
}

TEST(Framing, TheTableIsLarge) {
    EXPECT_GE(framing_cases().size(), 500U);
}

TEST(Framing, EveryCaseGetsItsExactAnswer) {
    http_in::HttpIn door{table_options(),
                         [](const HttpRequest& request, const http_in::Reply& reply) {
                             reply({.status = 200, .headers = {}, .body = seen(request)});
                         }};

    for (const FramingCase& one : framing_cases()) {
        SCOPED_TRACE(one.name);
        HttpClient client{door.port()};
        client.send(one.bytes);
        for (const std::string& expected : one.answers) {
            const auto answer = client.read(expected.starts_with("200=HEAD "));
            ASSERT_TRUE(answer) << "no answer; expected " << expected;
            if (!expected.starts_with("200=HEAD ")) {
                EXPECT_EQ(told(*answer), expected);
            }
            EXPECT_TRUE(answer->headers.contains("date"));
        }
        if (one.stays_open) {
            const auto answer = client.get("/again");
            ASSERT_TRUE(answer) << "the connection ended";
            EXPECT_EQ(told(*answer), "200=GET /again");
        } else {
            client.finish_sending();
            EXPECT_TRUE(client.ends()) << "more came than expected";
        }
    }
}

TEST(Framing, TheAnswerDoesNotDependOnHowTheBytesArrive) {
    for (const FramingCase& one : framing_cases()) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, one.bytes.size()}) {
            SCOPED_TRACE(one.name + ", in pieces of " + std::to_string(piece));
            bool open = false;
            EXPECT_EQ(read_in_pieces(one, piece, open), one.answers);
            EXPECT_EQ(open, one.stays_open);
        }
    }
}

}  // namespace
}  // namespace waybill::test
