#include <string>

#include "core/sha256.hpp"
#include "waybill/ownership.hpp"
#include "waybill/target.hpp"

namespace waybill {

std::uint64_t target_number(std::string_view box, std::string_view key) {
    // All subscriptions of a box are one thing to be able to do.
    if (key.starts_with(subscription_prefix)) key = subscription_prefix;
    std::string name;
    name.reserve(box.size() + 1 + key.size());
    name.append(box).append(1, '\0').append(key);  // NUL is in neither: no two pairs look alike

    const auto digest = sha256(name);
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        number = number << 8 | digest[i];
    }
    return number;
}

}  // namespace waybill
