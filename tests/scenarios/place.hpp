#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "waybill/runtime.hpp"
#include "waybill/store.hpp"
#include "waybill/store_handle.hpp"
#include "waybill/system.hpp"

namespace waybill::test {

/// This host's time, with a wall clock that a test may set forward: an hour passes at once.
///
/// Thread safety: any call from any thread.
class ShiftedClock final : public Clock {
public:
    LocalTime now() override { return system_clock().now(); }
    StoreTime wall() override { return system_clock().wall() + Duration{shift_.load()}; }
    void advance(Duration by) { shift_ += by.count(); }

private:
    std::atomic<Duration::rep> shift_{0};
};

/// Where the boxes of a scenario live: an empty store of one kind, whose time the test may move on.
class Place {
public:
    virtual ~Place() = default;
    /// An application's way in; several in this process may be in at once.
    virtual StoreHandle open() = 0;
    /// Appends in the transaction of an inline handler, through its native handle.
    virtual void append_inside(void* native, const Append& item) = 0;

    virtual void advance(Duration by) { clock_.advance(by); }
    StoreTime now() { return clock_.wall(); }

protected:
    ShiftedClock clock_{};
};

struct PlaceEntry {
    std::string name{};
    std::function<std::unique_ptr<Place>()> make{};

    friend void PrintTo(const PlaceEntry& entry, std::ostream* out) { *out << entry.name; }
};

/// places.cpp: one entry per store.
std::vector<PlaceEntry> places();

}  // namespace waybill::test
