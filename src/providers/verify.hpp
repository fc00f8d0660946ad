#pragma once

#include <cstddef>
#include <optional>
#include <variant>

#include "providers/reading.hpp"
#include "providers/scheme.hpp"

namespace waybill::providers {

/// Whose signature it is.
struct Verified {
    std::size_t secret = 0;
    std::optional<StoreTime> sent_at{};
};

/// Form, then signature, then freshness: a stale request with a bad signature is a mismatch.
std::variant<Verified, Rejected> verify(const Scheme& scheme, const Arrival& arrival,
                                        Reading& reading);

}  // namespace waybill::providers
