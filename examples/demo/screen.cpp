#include "screen.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace demo {
namespace {

constexpr const char* kReset = "\x1b[0m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kCyan = "\x1b[36m";
constexpr std::uint64_t kBarMax = 40;

std::string coloured(const char* colour, const std::string& text) {
    return colour + text + kReset;
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string bar(std::uint64_t length, const char* block) {
    std::string text;
    for (std::uint64_t i = 0; i < std::min(length, kBarMax); ++i) text += block;
    return text;
}

std::string clock_text(double seconds) {
    const int whole = static_cast<int>(seconds);
    char text[16];
    std::snprintf(text, sizeof text, "%02d:%02d", whole / 60, whole % 60);
    return text;
}

std::string number(const char* name, std::uint64_t value, const char* colour) {
    return std::string{name} + " " + coloured(colour, std::to_string(value)) + "   ";
}

std::string counts_text(const Counts& counts) {
    return number("appended", counts.appended, kBold) +
           number("done", done_messages(counts), kGreen) +
           number("retried", counts.retried, counts.retried ? kYellow : kDim) +
           number("dead", counts.dead, counts.dead ? kRed : kDim) +
           number("requeued", counts.requeued, kCyan) +
           number("out of order", counts.out_of_order, counts.out_of_order ? kRed : kGreen);
}

std::string instance_text(const InstanceView& instance) {
    const char* colour = instance.alive ? kGreen : kRed;
    return "  " + coloured(colour, "●") + " " + padded(instance.name, 10) +
           coloured(colour, padded(instance.state, 26)) +
           coloured(kCyan, bar(instance.partitions, "■")) +
           std::string(instance.partitions < 8 ? 8 - instance.partitions : 0, ' ') + "  " +
           std::to_string(instance.partitions) + " partitions, " +
           std::to_string(instance.running) + " running";
}

std::string lane_text(std::string_view name, const LaneView& lane) {
    const std::uint64_t waiting = lane.appended - std::min(lane.appended, lane.ended);
    const bool long_line = waiting > 12;
    const char* colour = !lane.trouble.empty() ? kRed : long_line ? kYellow : kGreen;
    std::string text = "  " + padded(std::string{name}, 10) + coloured(colour, bar(waiting, "▮")) +
                       " " + std::to_string(waiting);
    if (waiting > kBarMax) text += "…";
    if (!lane.trouble.empty()) {
        text += coloured(kDim, "  the head retries: ") + coloured(kRed, lane.trouble);
    } else if (long_line) {
        text += coloured(kYellow, "  catching up, in order");
    }
    return text;
}

}  // namespace

void enter_screen() {
    std::fputs("\x1b[?1049h\x1b[?25l", stdout);
}

void leave_screen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
}

void draw(const Board::View& view) {
    std::string text = "\x1b[H";
    const auto line = [&](const std::string& content = {}) { text += content + "\x1b[K\n"; };
    line(coloured(kBold, " Waybill") + coloured(kDim, "  a live inbox on the memory store  ") +
         clock_text(view.seconds) + coloured(kDim, "   Ctrl-C ends it"));
    line();
    line("  " + counts_text(view.counts));
    line();
    line(coloured(kBold, " Instances") + coloured(kDim, "  who owns how much of the box"));
    for (const InstanceView& instance : view.instances) line(instance_text(instance));
    line();
    line(coloured(kBold, " Lanes") + coloured(kDim, "  orders that wait, one lane per customer"));
    for (std::size_t i = 0; i < lane_names.size(); ++i)
        line(lane_text(lane_names[i], view.lanes[i]));
    line();
    line(coloured(kBold, " What happened"));
    for (const Line& told : view.lines) {
        line("  " + coloured(kDim, clock_text(told.at)) + "  " + told.text);
    }
    text += "\x1b[J";
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

void print_plain(const Board::View& view, std::uint64_t lines_told) {
    const std::uint64_t fresh =
        std::min<std::uint64_t>(view.lines_told - lines_told, view.lines.size());
    for (std::size_t i = view.lines.size() - fresh; i < view.lines.size(); ++i) {
        std::printf("%s  %s\n", clock_text(view.lines[i].at).c_str(), view.lines[i].text.c_str());
    }
    const LaneView& ken = view.lanes.back();
    std::printf("%s  appended %llu, done %llu, retried %llu, dead %llu; lane %s has %llu waiting\n",
                clock_text(view.seconds).c_str(),
                static_cast<unsigned long long>(view.counts.appended),
                static_cast<unsigned long long>(done_messages(view.counts)),
                static_cast<unsigned long long>(view.counts.retried),
                static_cast<unsigned long long>(view.counts.dead), lane_names.back().data(),
                static_cast<unsigned long long>(ken.appended - std::min(ken.appended, ken.ended)));
    std::fflush(stdout);
}

void print_summary(const Board::View& view, bool in_colour) {
    const Counts& counts = view.counts;
    const bool well = counts.out_of_order == 0;
    std::printf(
        "%sappended %llu, done %llu, retried %llu, dead %llu, requeued %llu, out of order %llu%s\n",
        in_colour ? (well ? kGreen : kRed) : "", static_cast<unsigned long long>(counts.appended),
        static_cast<unsigned long long>(done_messages(counts)),
        static_cast<unsigned long long>(counts.retried),
        static_cast<unsigned long long>(counts.dead),
        static_cast<unsigned long long>(counts.requeued),
        static_cast<unsigned long long>(counts.out_of_order), in_colour ? kReset : "");
}

}  // namespace demo
