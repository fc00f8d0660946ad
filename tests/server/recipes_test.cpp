/// Programs that the guides show, cut from the page itself and run.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/program_fixture.hpp"
#include "server/recorder.hpp"
#include "support/http_client.hpp"
#include "support/pacing.hpp"
#include "support/receiver.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

/// The block of a page that begins with this line.
std::string cut_from(const std::string& page, const std::string& first_line) {
    std::ifstream file{page};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const std::size_t from = text.find("\n" + first_line + "\n");
    const std::size_t to = text.find("\n```", from);
    if (from == std::string::npos || to == std::string::npos) {
        throw std::runtime_error(page + " has no block that begins with " + first_line);
    }
    return text.substr(from + 1, to - from);
}

std::uint16_t free_port() {
    return Receiver{always({})}.port();
}

/// What the host of Azure Functions posts when the timer of `drain` rings.
constexpr const char* kTimer =
    R"({"Data":{"timer":{"Schedule":{"AdjustForDST":true},"IsPastDue":false}},)"
    R"("Metadata":{"sys":{"MethodName":"drain","UtcNow":"2026-01-31T12:00:00Z"}}})";

class AzureRecipe : public Program {
protected:
    void SetUp() override {
        write("handler.py", cut_from("docs/guides/webhooks-out.md", "# handler.py"));
        std::filesystem::create_symlink(WAYBILL_PROGRAM, folder_.file("waybill"));
        write("waybill.toml", "[egress]\nallow = ['127.0.0.1/32']\n");
        handler_ = std::make_unique<Process>(
            Executable{WAYBILL_PYTHON}, folder_.path().string(),
            std::vector<std::string>{"handler.py"}, Process::Errors::to_output,
            std::vector{"FUNCTIONS_CUSTOMHANDLER_PORT=" + std::to_string(port_)});
        ASSERT_TRUE(look_until([&] { return ring().has_value(); }, std::chrono::seconds{30}))
            << "it does not listen";
    }
    std::optional<HttpAnswer> ring() {
        try {
            return HttpClient{port_}.post("/drain", kTimer, "Content-Type: application/json\r\n");
        } catch (const std::runtime_error&) {
            return std::nullopt;
        }
    }

    Recorder recorder_;
    const std::uint16_t port_ = free_port();
    std::unique_ptr<Process> handler_{};
};

TEST_F(AzureRecipe, ATimerSendsWhatIsDueAndAFailureIsOneOfTheFunction) {
    ASSERT_EQ(run_here({"subscriptions", "add", recorder_.url("/a")}).code, 0);
    ASSERT_EQ(run_here({"publish", "--type", "order.placed", "--body", "waybill.toml"}).code, 0);
    EXPECT_EQ(recorder_.count(), 0U);

    const auto sent = ring();
    EXPECT_EQ(sent->status, 200);
    const json::Value answer = json::parse(sent->body);
    EXPECT_TRUE(answer.find("Outputs")->as_object().empty());
    EXPECT_FALSE(answer.find("Logs")->as_array().empty());
    EXPECT_EQ(recorder_.count(), 1U);
    EXPECT_EQ(ring()->status, 200);
    EXPECT_EQ(recorder_.count(), 1U) << "it was sent again";

    write("waybill.toml", "[nonsense]\n");
    const auto failed = ring();
    EXPECT_EQ(failed->status, 500);
    EXPECT_THAT(failed->body, testing::HasSubstr("nonsense"));
}

}  // namespace
}  // namespace waybill::test
