#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "providers/catalogue.hpp"

namespace waybill::providers {
namespace {

constexpr std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320U : value >> 1;
        }
        table[i] = value;
    }
    return table;
}();

std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t value = 0xFFFFFFFFU;
    for (const char c : bytes) {
        value = kTable[(value ^ static_cast<std::uint8_t>(c)) & 0xFF] ^ value >> 8;
    }
    return ~value;
}

}  // namespace

/// The offline part: with the certificate configured, nothing is fetched from an address that the
/// request names.
std::vector<std::string> paypal_strings(const Arrival& arrival) {
    const HttpHeaders& headers = arrival.request.headers;
    const std::string* id = headers.find("PayPal-Transmission-Id");
    const std::string* time = headers.find("PayPal-Transmission-Time");
    if (id == nullptr || time == nullptr) return {};
    return {*id + "|" + *time + "|" + arrival.source.webhook_id + "|" +
            std::to_string(crc32(arrival.request.body))};
}

}  // namespace waybill::providers
