#include "core/siphash.hpp"

#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace waybill {
namespace {

/// The key of the published vectors: bytes 0, 1, 2 … 15.
constexpr HashKey kPublished{0x0706050403020100ULL, 0x0F0E0D0C0B0A0908ULL};

/// Of the first 0, 1, 2 … 63 bytes of 0, 1, 2 …
constexpr std::array<std::uint64_t, 64> kVectors{
    0xABAC0158050FC4DCULL, 0xC9F49BF37D57CA93ULL, 0x82CB9B024DC7D44DULL, 0x8BF80AB8E7DDF7FBULL,
    0xCF75576088D38328ULL, 0xDEF9D52F49533B67ULL, 0xC50D2B50C59F22A7ULL, 0xD3927D989BB11140ULL,
    0x369095118D299A8EULL, 0x25A48EB36C063DE4ULL, 0x79DE85EE92FF097FULL, 0x70C118C1F94DC352ULL,
    0x78A384B157B4D9A2ULL, 0x306F760C1229FFA7ULL, 0x605AA111C0F95D34ULL, 0xD320D86D2A519956ULL,
    0xCC4FDD1A7D908B66ULL, 0x9CF2689063DBD80CULL, 0x8FFC389CB473E63EULL, 0xF21F9DE58D297D1CULL,
    0xC0DC2F46A6CCE040ULL, 0xB992ABFE2B45F844ULL, 0x7FFE7B9BA320872EULL, 0x525A0E7FDAE6C123ULL,
    0xF464AEB267349C8CULL, 0x45CD5928705B0979ULL, 0x3A3E35E3CA9913A5ULL, 0xA91DC74E4ADE3B35ULL,
    0xFB0BED02EF6CD00DULL, 0x88D93CB44AB1E1F4ULL, 0x540F11D643C5E663ULL, 0x2370DD1F8C21D1BCULL,
    0x81157B6C16A7B60DULL, 0x4D54B9E57A8FF9BFULL, 0x759F12781F2A753EULL, 0xCEA1A3BEBF186B91ULL,
    0x2CF508D3ADA26206ULL, 0xB6101C2DA3C33057ULL, 0xB3F47496AE3A36A1ULL, 0x626B57547B108392ULL,
    0xC1D2363299E41531ULL, 0x667CC1923F1AD944ULL, 0x65704FFEC8138825ULL, 0x24F280D1C28949A6ULL,
    0xC2CA1CEDFAF8876BULL, 0xC2164BFC9F042196ULL, 0xA16E9C9368B1D623ULL, 0x49FB169C8B5114FDULL,
    0x9F3143F8DF074C46ULL, 0xC6FDAF2412CC86B3ULL, 0x7EAF49D10A52098FULL, 0x1CF313559D292F9AULL,
    0xC44A30DDA2F41F12ULL, 0x36FAE98943A71ED0ULL, 0x318FB34C73F0BCE6ULL, 0xA27ABF3670A7E980ULL,
    0xB4BCC0DB243C6D75ULL, 0x23F8D852FDB71513ULL, 0x8F035F4DA67D8A08ULL, 0xD89CD0E5B7E8F148ULL,
    0xF6F4E6BCF7A644EEULL, 0xAEC59AD80F1837F2ULL, 0xC3B2F6154B6694E0ULL, 0x9D199062B7BBB3A8ULL,
};

TEST(SipHash, IsTheOneThreeVariant) {
    std::string text;
    for (std::size_t length = 0; length < kVectors.size(); ++length) {
        EXPECT_EQ(siphash(kPublished, text), kVectors[length]) << length << " bytes";
        text.push_back(static_cast<char>(length));
    }
}

TEST(SipHash, TellsZerosOfDifferentLengthApart) {
    std::set<std::uint64_t> seen;
    for (std::size_t length = 0; length < 300; ++length) {
        seen.insert(siphash(kPublished, std::string(length, '\0')));
    }

    EXPECT_EQ(seen.size(), 300U);
}

RC_GTEST_PROP(SipHash, DependsOnBothHalvesOfTheKey, (const std::string& text)) {
    const auto hash = siphash(kPublished, text);

    RC_ASSERT(siphash({kPublished.k0 ^ 1, kPublished.k1}, text) != hash);
    RC_ASSERT(siphash({kPublished.k0, kPublished.k1 ^ 1}, text) != hash);
    RC_ASSERT(siphash({kPublished.k1, kPublished.k0}, text) != hash);
}

RC_GTEST_PROP(SipHash, DependsOnEachByte, (const std::string& text)) {
    const auto hash = siphash(kPublished, text);

    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string other = text;
        other[i] = static_cast<char>(other[i] ^ 1);
        RC_ASSERT(siphash(kPublished, other) != hash);
    }
}

}  // namespace
}  // namespace waybill
