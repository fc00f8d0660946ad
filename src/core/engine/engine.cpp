#include "core/engine/engine.hpp"

#include <algorithm>

#include "core/engine/machine.hpp"

namespace waybill::engine {

using namespace std::chrono_literals;

Problems check(const Config& config) {
    Problems problems;
    const Options& options = config.options;
    const auto require = [&](bool fine, std::string text) {
        if (!fine) {
            problems.push_back(std::move(text));
        }
    };
    require(options.lease >= 100ms && options.lease <= 10min, "engine.lease: must be 100ms … 10m");
    require(options.beat > 0ms && options.beat * 3 <= options.lease,
            "engine.beat: must be more than zero and at most a third of engine.lease");
    require(options.window_bytes >= 64U << 10, "engine.window: must be at least 64KiB");
    require(options.poll_active > 0ms && options.poll_active <= options.poll_idle,
            "engine.poll: must be more than zero, and poll_active at most poll_idle");
    require(options.page_rows >= 1 && options.increment_rows >= 1 && options.settle_rows >= 1 &&
                options.lane_rows >= 1,
            "engine: page_rows, increment_rows, settle_rows and lane_rows must be at least 1");
    require(options.settle_halves_from >= 2, "engine: settle_halves_from must be at least 2");
    require(
        options.reconcile > 0ms && options.due_ahead > 0ms && options.shutdown_timeout >= 0ms,
        "engine: reconcile and due_ahead must be more than zero, shutdown_timeout not negative");
    require(!config.boxes.empty(), "no box: declare at least one");
    std::vector<std::string> names;
    for (const LocalBox& box : config.boxes) {
        require(std::ranges::find(names, box.name) == names.end(),
                "box \"" + box.name + "\" is declared twice; give each a name of its own");
        names.push_back(box.name);
        std::ranges::copy(check(box.name, box.options), std::back_inserter(problems));
        std::vector<Target> targets;
        for (const LocalTarget& target : box.targets) {
            std::ranges::copy(check(target.target, target.options), std::back_inserter(problems));
            targets.push_back(target.target);
        }
        std::ranges::copy(check_together(targets), std::back_inserter(problems));
    }
    return problems;
}

Engine::Engine(Config config, Random& random, Observer& observer)
    : machine_(std::make_unique<Machine>(std::move(config), random, observer)) {}
Engine::~Engine() = default;

void Engine::start(LocalTime now) {
    machine_->start(now);
}
void Engine::stop(LocalTime now) {
    machine_->stop(now);
}
void Engine::on_tick(LocalTime now) {
    machine_->on_tick(now);
}
void Engine::on_wake(LocalTime now) {
    machine_->on_wake(now);
}
void Engine::on_beat(LocalTime now, BeatAnswer answer) {
    machine_->on_beat(now, std::move(answer));
}
void Engine::on_channel(LocalTime now, ChannelReply reply) {
    machine_->on_channel(now, std::move(reply));
}
void Engine::on_outcome(LocalTime now, RunId run, RunResults results) {
    Completed completed{run, std::move(results)};
    machine_->on_outcomes(now, {&completed, 1});
}

void Engine::on_outcomes(LocalTime now, std::span<Completed> completed) {
    machine_->on_outcomes(now, completed);
}
void Engine::on_appended(LocalTime now, std::span<const HandOver> messages) {
    machine_->on_appended(now, messages);
}
Commands Engine::take_commands() {
    return machine_->take_commands();
}
LocalTime Engine::next_tick() const {
    return machine_->next_tick();
}
bool Engine::is_idle() const {
    return machine_->is_idle();
}
bool Engine::is_stopped() const {
    return machine_->is_stopped();
}
std::uint64_t Engine::overtaking_reads() const {
    return machine_->overtaking_reads();
}
Status Engine::status() const {
    return machine_->status();
}
const Uuid& Engine::incarnation() const {
    return machine_->incarnation();
}

}  // namespace waybill::engine
