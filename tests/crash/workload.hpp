#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

/// What the child does and the parent must know to judge it. All of it follows from a message's body.
namespace waybill::crash {

/// "orders/3/12/7": box, lane, round, number. Within a lane (round, number) is the order of appends.
struct Body {
    std::string box{};
    int lane = 0;
    int round = 0;
    int number = 0;

    std::string text() const {
        return box + "/" + std::to_string(lane) + "/" + std::to_string(round) + "/" +
               std::to_string(number);
    }
    static Body parse(const std::string& text) {
        Body body;
        std::istringstream in{text};
        char slash = 0;
        std::getline(in, body.box, '/');
        in >> body.lane >> slash >> body.round >> slash >> body.number;
        return body;
    }
    auto operator<=>(const Body&) const = default;
};

/// The last target of a box that has lanes; when it succeeded, the next message of the lane may start.
inline std::optional<std::string_view> last_of_lane(std::string_view box) {
    if (box == "orders") return "receipt";
    if (box == "files") return "index";
    return std::nullopt;
}

/// The targets a message of this box must be done for.
inline std::vector<std::string> targets_of(std::string_view box) {
    if (box == "orders") return {"bill", "receipt"};
    if (box == "files") return {"index"};
    if (box == "mail") return {"send"};
    if (box == "later") return {"ring"};
    if (box == "bombs") return {"explode"};
    if (box == "guarded") return {"guard"};
    if (box == "published") return {"tell"};
    return {"write"};
}

/// Rows that exist exactly as often as their message was handled (or appended), in a table of the
/// application's own: the table of a box, if it has one.
inline std::string table_of(std::string_view box) {
    if (box == "books") return "written";       // by an inline handler, with its success
    if (box == "guarded") return "consumed";    // by a guarded consumer, with its mark
    if (box == "published") return "business";  // with the message itself
    return {};
}
inline constexpr std::array tables{"written", "consumed", "business"};

/// Fails at its first attempt.
inline bool fails_once(const Body& body) {
    return body.number % 4 == 0;
}
/// Is meant to end as a dead letter: because it says so, or because it kills whoever handles it.
inline bool is_poison(const Body& body) {
    return (body.box == "mail" && body.number % 8 == 1) || body.box == "bombs";
}

}  // namespace waybill::crash
