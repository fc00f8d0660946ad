#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace waybill::intake {

/// Why a body cannot be taken.
struct NotDecoded {
    /// It is what was feared: too large, or grown more than a hundredfold. If not, it is broken.
    bool is_too_large = false;
    const char* message = "";
};

/// The one gzip member that `bytes` are, and nothing after it. It never holds more than `bytes_max`,
/// nor more than a hundred times what was sent; up to 4 KiB may grow as they like.
std::variant<std::string, NotDecoded> decode_gzip(std::string_view bytes, std::uint64_t bytes_max);

}  // namespace waybill::intake
