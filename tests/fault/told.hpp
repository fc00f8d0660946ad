#pragma once

#include <cstdint>
#include <sstream>
#include <string>

/// What instances tell the test, all of them through one pipe, one line per write: whole lines, in the
/// order in which they were written, whoever wrote them.
namespace waybill::fault {

struct Told {
    enum class Kind : char {
        run = 'R',     ///< a handler was called
        well = 'W',    ///< it is about to return Done
        failed = 'F',  ///< it is about to fail
        event = 'E',   ///< of the engine: `what` is its kind
        gone = 'X',    ///< the instance was killed, or has ended
        frozen = 'Z',  ///< it was stopped in the middle
        thawed = 'C',  ///< it goes on
        marked = 'M',  ///< by the test itself: what was told before is heard
    };
    Kind kind{};
    std::string instance{};
    /// run, well, failed: the box.
    std::string what{};
    std::string target{};
    std::string lane{};
    std::int64_t number = 0;
    std::uint32_t attempt = 0;
    std::uint32_t partition = 0;
    std::string message{};
    /// event: its text; run of a batch: how many came together; run of a "letterhead": what was in it.
    std::string text{};

    std::string line() const {
        const auto field = [](const std::string& value) { return value.empty() ? "-" : value; };
        std::ostringstream out;
        out << static_cast<char>(kind) << ' ' << field(instance) << ' ' << field(what) << ' '
            << field(target) << ' ' << field(lane) << ' ' << number << ' ' << attempt << ' '
            << partition << ' ' << field(message) << ' ' << text << '\n';
        return out.str();
    }
    static Told parse(const std::string& line) {
        Told told;
        char kind = 0;
        std::istringstream in{line};
        in >> kind >> told.instance >> told.what >> told.target >> told.lane >> told.number >>
            told.attempt >> told.partition >> told.message;
        in.get();
        std::getline(in, told.text);
        told.kind = static_cast<Kind>(kind);
        for (std::string* field :
             {&told.instance, &told.what, &told.target, &told.lane, &told.message}) {
            if (*field == "-") field->clear();
        }
        return told;
    }
};

}  // namespace waybill::fault
