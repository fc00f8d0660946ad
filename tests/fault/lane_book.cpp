#include "fault/lane_book.hpp"

namespace waybill::fault {

using Kind = Told::Kind;

void LaneBook::hear(const Told& told) {
    switch (told.kind) {
        case Kind::run: started(told); break;
        case Kind::well:
        case Kind::failed: ended(told); break;
        case Kind::gone: left(told.instance); break;
        case Kind::frozen:
            left(told.instance);
            behind_the_times_.insert(told.instance);
            break;
        case Kind::thawed:
        case Kind::marked: break;
        case Kind::event:
            if (told.what == "lost" || told.what == "owned") {
                behind_the_times_.erase(told.instance);
            } else if (told.what == "died") {
                for (auto& [lane, state] : lanes_) {
                    if (std::get<1>(lane) == told.target) state.is_unsure = true;
                }
            }
            break;
    }
}

void LaneBook::blame(const std::string& what, const Told& told) {
    constexpr std::size_t enough = 20;
    if (broken_.size() < enough) broken_.push_back(what + ": " + told.line());
}

void LaneBook::started(const Told& told) {
    ++runs_[{told.target, told.message}];
    if (told.lane.empty() || behind_the_times_.contains(told.instance)) return;
    State& lane = lanes_[{told.what, told.target, told.lane}];
    if (!lane.running_in.empty()) {
        blame("ran while " + std::to_string(lane.current) + " ran in " + lane.running_in, told);
    }
    if (told.number < lane.current) {
        blame("ran after " + std::to_string(lane.current), told);
    } else if (told.number == lane.current && lane.is_over && !lane.is_unsure) {
        blame("ran again", told);
    } else if (told.number > lane.current && !lane.is_over && !lane.is_unsure) {
        blame("ran before " + std::to_string(lane.current) + " was over", told);
    }
    lane = {.current = told.number, .running_in = told.instance, .is_over = false};
}

void LaneBook::ended(const Told& told) {
    if (told.lane.empty()) return;
    State& lane = lanes_[{told.what, told.target, told.lane}];
    if (lane.running_in != told.instance || lane.current != told.number) return;
    lane.running_in.clear();
    lane.is_over = told.kind == Kind::well;
}

void LaneBook::left(const std::string& instance) {
    for (auto& [name, lane] : lanes_) {
        // What it said was done may not have been recorded.
        lane.is_unsure = true;
        if (lane.running_in == instance) lane.running_in.clear();
    }
}

std::string LaneBook::problems() const {
    std::string text;
    for (const std::string& line : broken_) text += line;
    return text;
}

}  // namespace waybill::fault
