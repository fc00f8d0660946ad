#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "waybill/providers.hpp"

/// The page that lists the providers, for people.
namespace waybill {
namespace {

std::string cell(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '|') {
            result += " or ";
        } else {
            result += c;
        }
    }
    return result;
}

std::string row_of(const providers::Info& info) {
    return "| `" + std::string{info.key} + "` | " + cell(info.scheme) + " | " + cell(info.type) +
           " | " + cell(info.id) + " | " + cell(info.handshake) + " |\n";
}

TEST(ProviderReference, ListsEveryProviderAsItIs) {
    std::ifstream file{"docs/reference/providers.md"};
    ASSERT_TRUE(file) << "run it in the repository's folder, as ctest does";
    const std::string page{std::istreambuf_iterator<char>{file}, {}};

    std::string table = "|---|---|---|---|---|\n";
    for (const std::string_view key : providers::keys()) table += row_of(*providers::info(key));

    EXPECT_THAT(page, testing::EndsWith(table))
        << "docs/reference/providers.md should end with this table";
}

}  // namespace
}  // namespace waybill
