#include "waybill/testkit/event_log.hpp"

#include <algorithm>

namespace waybill::testkit {

void EventLog::on_event(const Event& event) noexcept {
    const std::lock_guard lock{mutex_};
    lines_.push_back({event.kind, event.partition, event.sequence, event.message,
                      std::string{event.target}, std::string{event.text}, event.count});
    ++counts_[static_cast<std::size_t>(event.kind)];
    changed_.notify_all();
}

bool EventLog::wait_for(Event::Kind kind, std::size_t times, Duration at_most) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, at_most, [&] { return tally(kind) >= times; });
}

bool EventLog::wait_for_line(const std::function<bool(const Line&)>& wanted, Duration at_most) {
    std::unique_lock lock{mutex_};
    std::size_t seen = 0;
    return changed_.wait_for(lock, at_most, [&] {
        while (seen < lines_.size()) {
            if (wanted(lines_[seen++])) return true;
        }
        return false;
    });
}

bool EventLog::wait_for_message(const Uuid& message, Duration at_most) {
    return wait_for_line(
        [&](const Line& line) {
            return line.kind == Event::Kind::finished && line.message == message;
        },
        at_most);
}

std::size_t EventLog::count(Event::Kind kind) {
    const std::lock_guard lock{mutex_};
    return tally(kind);
}

std::vector<EventLog::Line> EventLog::lines() {
    const std::lock_guard lock{mutex_};
    return lines_;
}

std::vector<EventLog::Line> EventLog::lines(Event::Kind kind) {
    std::vector<Line> wanted = lines();
    std::erase_if(wanted, [&](const Line& line) { return line.kind != kind; });
    return wanted;
}

}  // namespace waybill::testkit
