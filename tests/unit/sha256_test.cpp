#include "core/sha256.hpp"

#include <string>

#include <gtest/gtest.h>

namespace waybill {
namespace {

std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text += digits[static_cast<unsigned char>(byte) >> 4];
        text += digits[static_cast<unsigned char>(byte) & 15U];
    }
    return text;
}

struct Vector {
    std::string bytes{};
    std::string digest{};
};

class Sha256Vectors : public testing::TestWithParam<Vector> {};

TEST_P(Sha256Vectors, AgreeWithSha256sum) {
    const auto digest = sha256(GetParam().bytes);

    EXPECT_EQ(hex({reinterpret_cast<const char*>(digest.data()), digest.size()}),
              GetParam().digest);
    EXPECT_EQ(hex(sha256_bytes(GetParam().bytes)), GetParam().digest);
}

INSTANTIATE_TEST_SUITE_P(
    All, Sha256Vectors,
    testing::Values(Vector{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                    Vector{"abc",
                           "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                    Vector{std::string(1'000'000, 'a'),
                           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}));

TEST(Sha256, BytesAfterANulCount) {
    EXPECT_NE(sha256(std::string_view{"a\0b", 3}), sha256(std::string_view{"a\0c", 3}));
    EXPECT_NE(sha256(std::string_view{"a", 1}), sha256(std::string_view{"a\0", 2}));
}

TEST(Sha256, NoBytesAtAllIsTheEmptyText) {
    EXPECT_EQ(sha256(std::string_view{}), sha256(""));
}

}  // namespace
}  // namespace waybill
