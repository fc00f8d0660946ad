#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"
#include "waybill/runtime.hpp"

namespace waybill::intake {

/// A body that came under an id nobody signed.
struct WeakBody {
    std::string source{};
    /// SHA-256.
    std::string hash{};
    std::string id{};
};

/// The newest of them that a store still has, oldest first; no more than are wanted, and no longer
/// than `time` allows.
std::vector<WeakBody> weak_bodies(Catalogue& catalogue, std::size_t count_max, Clock& clock,
                                  Duration time);

}  // namespace waybill::intake
