#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// Slots computed outside this code base; every implementation, in C++ or SQL, must agree:
///   printf %s order-42 | sha256sum | cut -c1-4                       # >> 6
///   printf %s <id without dashes> | xxd -r -p | sha256sum | cut -c1-4
namespace waybill::test {

struct LaneSlot {
    std::string_view lane{};
    std::uint32_t slot = 0;
};

struct IdSlot {
    std::string_view id{};
    std::uint32_t slot = 0;
};

inline constexpr std::array lane_slots{
    LaneSlot{"a", 810},
    LaneSlot{"A", 342},
    LaneSlot{"0", 383},
    LaneSlot{"a b", 801},
    LaneSlot{"order-42", 239},
    LaneSlot{"order-43", 498},
    LaneSlot{"tenant/provider/entity", 260},
    LaneSlot{"k\xC3\xA4se-\xE6\xBC\xA2\xE5\xAD\x97-\xF0\x9F\x9A\x9A", 241},  // käse-漢字-🚚
    // 256 times x
    LaneSlot{"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
             535},
};

inline constexpr std::array id_slots{
    IdSlot{"00000000-0000-0000-0000-000000000000", 221},
    IdSlot{"ffffffff-ffff-ffff-ffff-ffffffffffff", 363},
    IdSlot{"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", 312},
    IdSlot{"0190163d-8694-739b-aea5-966c26f8ad91", 159},
    IdSlot{"919108f7-52d1-4320-9bac-f847db4148a8", 508},
};

}  // namespace waybill::test
