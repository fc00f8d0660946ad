#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "support/manual_clock.hpp"
#include "waybill/memory.hpp"

namespace waybill::test {

/// Numbers from a seed.
class SeededRandom final : public Random {
public:
    explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() override {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

private:
    std::uint64_t state_;
};

/// Drives one engine over a store on the test's own thread: every store call is answered at once, a
/// handler runs when the engine says so, and time moves when the test says so.
class Stepper final : public Observer {
public:
    /// Nothing: the run is held until `finish_held`.
    using Handler = std::function<std::optional<Outcome>(const engine::RunItem&, const Target&)>;

    Stepper(engine::Config config, Store& store, ManualClock& clock, Handler handler,
            std::uint64_t seed = 1);

    /// Starts, and takes what is free.
    void start();
    void stop();
    /// Carries out commands until there are none.
    void settle_down();
    /// Moves time on, from one wish of the engine to the next.
    void run_for(Duration time);

    /// Appends to the store, and hands over or only wakes.
    std::vector<AppendResult> append(std::vector<Message> messages, bool hand_over = false);
    void finish_held(engine::RunId run, Outcome outcome, const std::string& detail = {});
    /// As if the store could not carry it out.
    void give_back_held(engine::RunId run);

    void on_event(const Event& event) noexcept override;

    /// False: the store says nothing of how far it is complete, as if others committed out of order.
    bool store_is_in_order = true;
    /// Called when the store has answered a read, before the engine hears of it.
    std::function<void(const ReadRequest&, ReadPage&)> after_read{};

    /// Called with what is about to be settled.
    std::function<void(const SettleBatch&)> before_settle{};

    engine::Engine& engine() { return *engine_; }
    LocalTime now() { return clock_.now(); }
    /// Every start, as "target:body" (the first dozen characters of it).
    const std::vector<std::string>& starts() const { return starts_; }
    std::uint64_t count(Event::Kind kind) const;
    const std::vector<engine::Run>& held() const { return held_; }
    /// Those that were asked to end.
    const std::vector<engine::RunId>& cancelled() const { return cancelled_; }
    /// Sizes of the calls made, in order.
    const std::vector<std::size_t>& batches() const { return batches_; }
    std::uint64_t reads() const { return reads_; }

private:
    void call_store(const engine::ChannelCall& call);
    void run(engine::Run run);
    void end_held(engine::RunId run, const std::optional<engine::RunResult>& result);

    engine::Config config_;
    Store& store_;
    ManualClock& clock_;
    Handler handler_;
    SeededRandom random_;
    std::unique_ptr<engine::Engine> engine_;
    std::vector<std::string> starts_{};
    std::vector<std::size_t> batches_{};
    std::uint64_t reads_ = 0;
    std::vector<engine::Run> held_{};
    std::vector<engine::RunId> cancelled_{};
    std::map<Event::Kind, std::uint64_t> counts_{};
    std::vector<engine::Run> to_run_{};
};

/// A box with these targets, which match everything.
engine::LocalBox a_box(std::string name, BoxOptions options, std::vector<std::string> targets);

}  // namespace waybill::test
