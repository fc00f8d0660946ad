#pragma once

#include <sstream>
#include <string>

/// What the child tells its parent, one line per write, so that nothing it told is lost when it dies.
namespace waybill::crash {

struct Line {
    enum class Kind : char {
        acknowledged = 'A',  ///< an append returned; detail: its dedup key
        run = 'R',           ///< a handler was called
        well = 'W',          ///< it is about to return Done
        failed = 'F',        ///< it is about to fail
        died = 'X',          ///< it is about to ask for death
        done = 'D',          ///< durably done, says the engine
        dead = 'K',          ///< durably dead, says the engine
        idle = 'Q',          ///< nothing is left to do
    };
    Kind kind{};
    std::string message{};
    std::string target{};
    std::string body{};
    std::string detail{};

    std::string text() const {
        const auto field = [](const std::string& value) { return value.empty() ? "-" : value; };
        return std::string(1, static_cast<char>(kind)) + " " + field(message) + " " +
               field(target) + " " + field(body) + " " + field(detail) + "\n";
    }
    static Line parse(const std::string& text) {
        Line line;
        char kind = 0;
        std::istringstream{text} >> kind >> line.message >> line.target >> line.body >> line.detail;
        line.kind = static_cast<Kind>(kind);
        for (std::string* field : {&line.message, &line.target, &line.body, &line.detail}) {
            if (*field == "-") field->clear();
        }
        return line;
    }
};

}  // namespace waybill::crash
