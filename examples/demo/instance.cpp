#include "instance.hpp"

#include <condition_variable>
#include <mutex>
#include <random>
#include <stdexcept>
#include <utility>

namespace demo {
namespace {

using namespace std::chrono_literals;

/// As a call to a far service would take: some milliseconds, unless told to stop.
void take_a_while(const std::stop_token& stop) {
    thread_local std::mt19937 random{std::random_device{}()};
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock{mutex};
    const std::chrono::milliseconds pause{std::uniform_int_distribution{2, 15}(random)};
    never.wait_for(lock, stop, pause, [] { return false; });
    if (stop.stop_requested()) throw std::runtime_error{"call cancelled"};
}

bool bad_luck(int one_in) {
    thread_local std::mt19937 random{std::random_device{}()};
    return one_in > 0 && std::uniform_int_distribution{1, one_in}(random) == 1;
}

waybill::Outcome charge(const waybill::Message& order, waybill::Context& context,
                        const Weather& weather) {
    take_a_while(context.stop_token());
    if (order.body == poison && !weather.poison_mended) {
        return waybill::Fail{.reason = "the amount is not a number",
                             .permanent = context.attempt() == 3};
    }
    if (order.lane == lane_names.back() && weather.bank_down) {
        throw std::runtime_error{"the bank is down"};
    }
    if (bad_luck(weather.bad_luck)) throw std::runtime_error{"connection reset"};
    return waybill::Done{};
}

}  // namespace

Instance::Instance(std::string name, waybill::memory::MemoryStore& root, Board& board,
                   Weather& weather)
    : name_(std::move(name)), board_(board), cable_(std::make_shared<Cable>(root.connect())) {
    waybill::Settings settings{.store = cable_, .name = name_};
    settings.lease = 1500ms;
    settings.beat = 300ms;
    settings.shutdown_timeout = 2s;
    app_ = std::make_unique<waybill::Waybill>(std::move(settings));
    const waybill::Backoff backoff{.base = 150ms, .multiplier = 1.6, .cap = 800ms};
    app_->inbox("orders", {.lanes = waybill::Lanes::strict, .keep_done = 0s})
        .on("order.*", "charge",
            [&weather](const waybill::Message& order, waybill::Context& context) {
                return charge(order, context, weather);
            },
            {.max_attempts = 40, .backoff = backoff})
        .on("order.*", "receipt",
            [](const waybill::Message&, waybill::Context& context) {
                take_a_while(context.stop_token());
            },
            {.after = "charge", .max_attempts = 40, .backoff = backoff});
    app_->observe(*this);
    app_->start();
}

Instance::~Instance() {
    app_->stop();
}

void Instance::cut() {
    silent_ = true;
    cable_->cut();
}

InstanceView Instance::view() {
    if (silent_) return {name_, "silent: its cable is cut", false, 0, 0};
    const waybill::Status status = app_->status();
    return {name_, status.ready ? "alive" : "starting", status.ready, status.partitions,
            status.running};
}

void Instance::on_event(const waybill::Event& event) noexcept {
    board_.on_event(name_, event);
}

}  // namespace demo
