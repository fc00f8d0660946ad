#include "simulation/history.hpp"

#include <cstdio>
#include <string_view>

namespace waybill::sim {
namespace {

std::uint64_t fold(std::uint64_t hash, std::string_view bytes) {
    for (const char byte : bytes) {
        hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3ULL;
    }
    return hash;
}

std::uint64_t fold(std::uint64_t hash, std::int64_t number) {
    hash ^= static_cast<std::uint64_t>(number);
    return (hash ^ (hash >> 29)) * 0xBF58476D1CE4E5B9ULL;
}

}  // namespace

std::string in_seconds(Duration time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f", static_cast<double>(time.count()) / 1e6);
    return text;
}

std::string to_string(const Note& note) {
    std::string line = in_seconds(note.at) + "  ";
    if (note.instance >= 0) line += "i" + std::to_string(note.instance) + " ";
    line += note.what;
    if (note.message != no_message) line += " m" + std::to_string(note.message);
    if (note.sequence != 0) line += " #" + std::to_string(note.sequence);
    if (!note.text.empty()) line += " " + note.text;
    return line;
}

void History::add(Note note) {
    hash_ = fold(hash_, note.at.count());
    hash_ = fold(hash_, note.what);
    hash_ = fold(hash_, note.instance);
    hash_ = fold(hash_, note.message);
    hash_ = fold(hash_, note.sequence);
    hash_ = fold(hash_, note.text);
    if (print_) std::printf("%s\n", to_string(note).c_str());
    notes_.push_back(std::move(note));
}

void History::violate(Violation violation) {
    if (violation_) return;
    add({.at = violation.at,
         .what = "VIOLATION",
         .message = violation.message,
         .text = violation.rule + ": " + violation.text});
    violation_ = std::move(violation);
}

std::string History::tail(MessageNumber message, std::size_t count) const {
    std::vector<const Note*> lines;
    for (auto note = notes_.rbegin(); note != notes_.rend() && lines.size() < count; ++note) {
        if (message == no_message || note->message == message) lines.push_back(&*note);
    }
    std::string text;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        text += "    " + to_string(**line) + "\n";
    }
    return text;
}

}  // namespace waybill::sim
