#include "board.hpp"

#include <utility>

namespace demo {
namespace {

constexpr std::size_t kLinesKept = 8;

}  // namespace

std::uint64_t Board::next_number(std::size_t lane) {
    const std::lock_guard lock{mutex_};
    return ++view_.lanes[lane].appended;
}

void Board::appended(std::size_t lane, std::uint64_t number, const waybill::Uuid& id) {
    const std::lock_guard lock{mutex_};
    ++view_.counts.appended;
    places_.emplace(id, Place{lane, number});
}

void Board::poisoned() {
    const std::lock_guard lock{mutex_};
    ++view_.counts.appended;
}

void Board::requeued() {
    const std::lock_guard lock{mutex_};
    ++view_.counts.requeued;
}

void Board::tell(std::string text) {
    const std::lock_guard lock{mutex_};
    tell_locked(std::move(text));
}

void Board::tell_locked(std::string text) {
    view_.lines.push_back({seconds(), std::move(text)});
    ++view_.lines_told;
    if (view_.lines.size() > kLinesKept) view_.lines.pop_front();
}

/// Durably done: in a strict lane nothing older may come after it. A requeued dead letter may: it
/// was taken out of its lane when it died.
void Board::charged(const Place& place) {
    LaneView& lane = view_.lanes[place.lane];
    lane.trouble.clear();
    if (place.number <= lane.last) {
        ++view_.counts.out_of_order;
        tell_locked("OUT OF ORDER in lane " + std::string{lane_names[place.lane]});
    }
    lane.last = place.number;
}

void Board::on_event(std::string_view instance, const waybill::Event& event) {
    using Kind = waybill::Event::Kind;
    const std::lock_guard lock{mutex_};
    const auto found = places_.find(event.message);
    const bool known = found != places_.end();
    const bool charge = event.target == "charge";
    const std::string who{instance};
    switch (event.kind) {
        case Kind::done:
            ++view_.counts.done;
            if (known && charge) charged(found->second);
            break;
        case Kind::failed:
            ++view_.counts.retried;
            if (known) view_.lanes[found->second.lane].trouble = event.text;
            break;
        case Kind::finished:
            ++view_.counts.finished;
            if (known) {
                ++view_.lanes[found->second.lane].ended;
                places_.erase(found);
            }
            break;
        case Kind::died:
            if (!charge) break;  // Its successor dies with it and comes back with it.
            ++view_.counts.dead;
            tell_locked("a poisoned order went to the dead letters: " + std::string{event.text});
            if (known) view_.lanes[found->second.lane].trouble.clear();
            break;
        case Kind::owned:
            ++view_.counts.taken_over;
            tell_locked(who + " owns partition " + std::to_string(event.partition));
            break;
        case Kind::given:
            tell_locked(who + " gave partition " + std::to_string(event.partition) + " away");
            break;
        case Kind::lost:
            tell_locked(who + " lost partition " + std::to_string(event.partition));
            break;
        case Kind::lease_late:
            tell_locked(who + " lost touch with the store: it starts nothing");
            break;
        default: break;
    }
}

void Board::show_instances(std::vector<InstanceView> instances) {
    const std::lock_guard lock{mutex_};
    view_.instances = std::move(instances);
}

Board::View Board::view() const {
    const std::lock_guard lock{mutex_};
    View view = view_;
    view.seconds = seconds();
    return view;
}

double Board::seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

}  // namespace demo
