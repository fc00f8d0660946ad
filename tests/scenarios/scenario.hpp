#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/place.hpp"
#include "support/app.hpp"
#include "support/event_log.hpp"
#include "support/gate.hpp"
#include "waybill/waybill.hpp"

/// What a user would do, through the front door, on every store. The table in README.md says which
/// scenario each test plays.
namespace waybill::test {

using namespace std::chrono_literals;
using Kind = Event::Kind;

/// Long enough for thousands of messages under a sanitizer; nobody waits for it unless something broke.
inline constexpr std::chrono::seconds long_patience{100};

/// What handlers were called with, in the order of their calls.
///
/// Thread safety: any thread.
class Notes {
public:
    void add(std::string note) {
        const std::lock_guard lock{mutex_};
        notes_.push_back(std::move(note));
    }
    std::vector<std::string> all() {
        const std::lock_guard lock{mutex_};
        return notes_;
    }
    std::size_t count(const std::string& note) {
        const std::vector<std::string> notes = all();
        return static_cast<std::size_t>(std::count(notes.begin(), notes.end(), note));
    }
    /// How often each note was made.
    std::map<std::string, int> tally() {
        std::map<std::string, int> times;
        for (const std::string& note : all()) ++times[note];
        return times;
    }

private:
    std::mutex mutex_;  ///< guards notes_
    std::vector<std::string> notes_;
};

/// One application on a place: one version of a program, from its start to its end.
struct Application {
    explicit Application(Place& place, std::string name = "test")
        : Application(place.open(), std::move(name)) {}
    explicit Application(StoreHandle opened, std::string name = "test")
        : store(std::move(opened)), app(settings(store, std::move(name))) {
        app.observe(log);
    }
    /// Nothing is swept by chance: a test that wants it does it. And nobody loses anything to a machine that stalls.
    static Settings settings(StoreHandle store, std::string name) {
        Settings quick = quick_settings(std::move(store), std::move(name));
        quick.lease = 60s;
        quick.sweep.interval = Duration{};
        return quick;
    }

    Waybill* operator->() { return &app; }
    std::uint64_t count(Filter::State state) { return app.catalogue().count({.state = state}); }
    std::uint64_t open() { return count(Filter::State::open); }
    std::vector<DeadLetterDetail> dead(std::uint32_t rows_max = 1000) {
        return app.catalogue().dead_letters({}, {}, rows_max).items;
    }
    /// What the store remembers of one delivery of an open message; nothing happened to it: all zero.
    Progress progress(const Uuid& message, const std::string& target) {
        const auto detail = app.catalogue().get(message);
        if (!detail || detail->open.empty()) return {};
        for (const Progress& progress : detail->open.front().progress) {
            if (progress.target == target) return progress;
        }
        return {};
    }

    StoreHandle store;
    EventLog log;
    Waybill app;
};

class Scenario : public testing::TestWithParam<PlaceEntry> {
protected:
    Place& place() { return *place_; }

    /// One that comes back after an hour: nobody sees it happen by chance.
    static Backoff in_an_hour() {
        return {.base = 1h, .multiplier = 1.0, .cap = 1h, .jitter = Jitter::none()};
    }
    static std::vector<Message> numbered(int count, const std::string& lane = {}) {
        std::vector<Message> messages;
        for (int i = 0; i < count; ++i) {
            messages.push_back({.type = "t", .body = std::to_string(i), .lane = lane});
        }
        return messages;
    }

private:
    std::unique_ptr<Place> place_ = GetParam().make();
};

/// A suite named after its topic, on every store.
#define WAYBILL_SCENARIOS(topic)                                         \
    class topic : public Scenario {};                                    \
    INSTANTIATE_TEST_SUITE_P(Stores, topic, testing::ValuesIn(places()), \
                             [](const auto& test) { return test.param.name; })

}  // namespace waybill::test
