#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "waybill/time.hpp"

namespace waybill::http_in {

/// What one address may take of a door.
struct AddressOptions {
    /// Connections at a time; the next one is answered 429. 0: no limit of its own.
    std::uint32_t connections_max = 0;
    /// Requests per second, with as many at once as come in one second. The next one is answered
    /// 429 before its body is read. 0: no limit.
    double requests_per_second = 0;

    bool operator==(const AddressOptions&) const = default;
};

/// Who is there how often, and who asks how fast. Pure: time is told.
///
/// Thread safety: none.
class AddressLimits {
public:
    /// Addresses whose pace is kept at most. Beyond, newcomers go unmeasured: whoever has that many
    /// addresses must not be able to shut out those who have one.
    static constexpr std::size_t paces_max = 65'536;

    /// The options outlive it, and may change between two calls.
    explicit AddressLimits(const AddressOptions& options) : options_(&options) {}

    /// One more connection; false: it has enough, and nothing was counted.
    bool enter(const std::string& address);
    void leave(const std::string& address);
    /// How long to wait before one more request; zero: none, and it is counted.
    Duration admit(const std::string& address, LocalTime now);
    /// Forgets those who have been slow enough to start anew.
    void forget_rested(LocalTime now);

private:
    const AddressOptions* options_;
    std::unordered_map<std::string, std::uint32_t> connections_{};
    /// When all that was admitted would have been admitted at exactly the allowed pace.
    std::unordered_map<std::string, LocalTime> paid_until_{};
};

}  // namespace waybill::http_in
