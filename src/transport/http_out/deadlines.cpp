#include "transport/http_out/deadlines.hpp"

#include <algorithm>
#include <array>

#include "core/wording.hpp"

namespace waybill::http_out {
namespace {

std::string_view doing(Phase phase) {
    switch (phase) {
        case Phase::name: return "looking up the name";
        case Phase::connect: return "connecting";
        case Phase::tls: return "in the TLS handshake";
        case Phase::first_byte: return "waiting for the answer";
        case Phase::answer: return "reading the answer";
        case Phase::done: break;
    }
    return "nothing was left to do";
}

Duration between(Duration from, Duration to) {
    return std::max(to - from, Duration{});
}

}  // namespace

Phase phase_of(const Progress& progress) {
    if (progress.first_byte > Duration{}) return Phase::answer;
    if (progress.ready > Duration{}) return Phase::first_byte;
    if (progress.connected > Duration{}) return Phase::tls;
    return progress.name > Duration{} ? Phase::connect : Phase::name;
}

Look look(const Deadlines& deadlines, const Progress& progress, Duration elapsed) {
    if (elapsed >= deadlines.total) return {.limit = deadlines.total};
    // A part that has not begun yet cannot end earlier than its whole length from now.
    const auto from = [&](Duration begin, Duration length) {
        return length > deadlines.total - begin ? deadlines.total : begin + length;
    };
    struct Part {
        Duration length{};
        Duration end{};
    };
    std::array<Part, 3> parts{{
        {deadlines.connect, deadlines.connect},
        {deadlines.tls, from(elapsed, deadlines.tls)},
        {deadlines.first_byte, from(elapsed, deadlines.first_byte)},
    }};
    std::size_t current = 0;
    switch (phase_of(progress)) {
        case Phase::name:
        case Phase::connect: break;
        case Phase::tls:
            current = 1;
            parts[1].end = from(progress.connected, parts[1].length);
            break;
        case Phase::first_byte:
            current = 2;
            parts[2].end = from(progress.ready, parts[2].length);
            break;
        case Phase::answer:
        case Phase::done: return {.again = deadlines.total};
    }
    if (elapsed >= parts[current].end) return {.limit = parts[current].length};
    Duration again = deadlines.total;
    for (std::size_t i = current; i < parts.size(); ++i) again = std::min(again, parts[i].end);
    return {.again = again};
}

std::string timed_out(Phase phase, Duration limit) {
    return "timed out " + std::string{phase == Phase::tls ? "" : "while "} +
           std::string{doing(phase)} + ", after " + detail::readable(limit);
}

Timings timings_of(const Progress& progress, Duration total) {
    Timings timings{.name = progress.name, .total = total};
    if (progress.connected > Duration{}) {
        timings.connect = between(progress.name, progress.connected);
    }
    if (progress.ready > Duration{}) timings.tls = between(progress.connected, progress.ready);
    if (progress.first_byte > Duration{}) {
        timings.first_byte = between(progress.ready, progress.first_byte);
    }
    return timings;
}

}  // namespace waybill::http_out
