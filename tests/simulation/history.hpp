#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/time.hpp"

/// Everything that happened in a run, in order: the checker's evidence, a person's trace, and a hash
/// that two runs of one seed must share.
namespace waybill::sim {

/// The number of a message in its run; `no_message` for what concerns none.
using MessageNumber = std::int32_t;
inline constexpr MessageNumber no_message = -1;

struct Note {
    Duration at{};
    /// A literal.
    const char* what = "";
    std::int32_t instance = -1;
    MessageNumber message = no_message;
    Sequence sequence = 0;
    std::string text{};
};

struct Violation {
    std::string rule{};
    std::string text{};
    Duration at{};
    MessageNumber message = no_message;
};

class History {
public:
    explicit History(bool print) : print_(print) {}

    void add(Note note);
    /// Only the first counts: what follows may be its consequence.
    void violate(Violation violation);

    const std::optional<Violation>& violation() const { return violation_; }
    std::uint64_t hash() const { return hash_; }
    std::size_t size() const { return notes_.size(); }
    /// The last notes of a message, or of all.
    std::string tail(MessageNumber message, std::size_t count) const;

private:
    bool print_;
    std::uint64_t hash_ = 0xCBF29CE484222325ULL;
    std::vector<Note> notes_;
    std::optional<Violation> violation_;
};

std::string to_string(const Note& note);
std::string in_seconds(Duration time);

}  // namespace waybill::sim
