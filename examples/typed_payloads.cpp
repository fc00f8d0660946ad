// Payloads with a type: JSON by default, anything else with a codec of three lines.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "check.hpp"
#include <waybill/json.hpp>
#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

// [describe]
struct OrderPlaced {
    std::string customer{};
    std::int64_t cents = 0;
    std::optional<std::string> note{};  // may be missing; the others may not
};
WAYBILL_JSON(OrderPlaced, customer, cents, note)
// [/describe]

// [codec]
/// Something with a format of its own.
struct Reading {
    int celsius = 0;
};

template <>
struct waybill::Codec<Reading> {
    static constexpr std::string_view content_type = "text/x-celsius";
    static std::string encode(const Reading& reading) { return std::to_string(reading.celsius); }
    static Reading decode(std::string_view bytes) {
        Reading reading;
        const char* end = bytes.data() + bytes.size();
        const auto [stopped, error] = std::from_chars(bytes.data(), end, reading.celsius);
        if (error != std::errc{} || stopped != end) throw std::runtime_error{"no temperature"};
        return reading;
    }
};
// [/codec]

int main() {
    waybill::Waybill app{{.store = waybill::memory::open()}};
    std::int64_t charged = 0;
    int warmest = 0;
    // [handle]
    app.inbox("events", {.concurrency = 1})
        .on<OrderPlaced>("order.placed", "billing",
                         [&](const OrderPlaced& order, waybill::Context& context) {
                             std::printf("%s owes %lld (attempt %u)\n", order.customer.c_str(),
                                         static_cast<long long>(order.cents), context.attempt());
                             charged += order.cents;
                         })
        .on_batch<Reading>("reading", "chart",
                           [&](waybill::TypedBatch<Reading> batch, waybill::BatchContext&) {
                               for (const auto& [reading, message, item] : batch) {
                                   warmest = std::max(warmest, reading.celsius);
                               }
                           });

    app.append(waybill::encode(OrderPlaced{"ada", 4'200}, {.type = "order.placed", .lane = "ada"}));
    app.append(waybill::encode(Reading{21}, {.type = "reading"}));
    // [/handle]
    app.append({.type = "order.placed", .body = R"({"customer":"grace","cents":"many"})"});
    CHECK(app.run_until_idle());

    CHECK(charged == 4'200);
    CHECK(warmest == 21);
    const auto dead = app.dead_letters().list();
    CHECK(dead.items.size() == 1);
    std::printf("dead: %s\n", dead.items[0].letter.reason.c_str());
    CHECK(dead.items[0].letter.reason.ends_with("cents: expected a whole number, found a string"));
}
