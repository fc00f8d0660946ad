#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "support/event_log.hpp"
#include "waybill/memory.hpp"
#include "waybill/waybill.hpp"

namespace waybill::test {

/// A back-off that a test does not notice.
inline Backoff quick_backoff() {
    return {.base = delay_floor, .multiplier = 1.0, .cap = delay_floor, .jitter = Jitter::none()};
}

/// Settings of an instance that is quick to start, to take over and to stop.
inline Settings quick_settings(StoreHandle store, std::string name = "test") {
    Settings settings{.store = std::move(store), .name = std::move(name)};
    settings.lease = std::chrono::milliseconds{600};
    settings.beat = std::chrono::milliseconds{50};
    settings.shutdown_timeout = std::chrono::seconds{10};
    return settings;
}

/// The engine keeps a millisecond between two looks at the clock.
inline void expect_on_time(Duration actual, Duration expected) {
    EXPECT_GE(actual, expected);
    EXPECT_LE(actual, expected + std::chrono::milliseconds{1});
}

/// One application on a memory store of its own, and what happens in it.
struct App {
    explicit App(std::unique_ptr<memory::MemoryStore> opened = memory::open())
        : store(std::move(opened)), app(quick_settings(store)) {
        app.observe(log);
    }
    std::shared_ptr<memory::MemoryStore> store;
    EventLog log;
    Waybill app;
};

}  // namespace waybill::test
