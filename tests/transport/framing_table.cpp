#include "transport/framing_table.hpp"

#include <fstream>
#include <stdexcept>

namespace waybill::test {
namespace {

/// \r \n \t \0 \\ \xHH, and {12*text} for twelve times that text.
std::string unescaped(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '{') {
            const std::size_t star = text.find('*', i);
            const std::size_t end = text.find('}', star);
            const std::string piece = unescaped(text.substr(star + 1, end - star - 1));
            const unsigned long count = std::stoul(text.substr(i + 1, star - i - 1));
            for (unsigned long n = 0; n < count; ++n) bytes += piece;
            i = end;
        } else if (text[i] != '\\') {
            bytes += text[i];
        } else {
            switch (text.at(++i)) {
                case 'r': bytes += '\r'; break;
                case 'n': bytes += '\n'; break;
                case 't': bytes += '\t'; break;
                case '0': bytes += '\0'; break;
                case '\\': bytes += '\\'; break;
                case 'x':
                    bytes += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
                    i += 2;
                    break;
                default: throw std::runtime_error("framing_cases.txt: bad escape in " + text);
            }
        }
    }
    return bytes;
}

std::vector<std::string> split(const std::string& text, const std::string& by) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = text.find(by, from)) != std::string::npos;) {
        parts.push_back(text.substr(from, at - from));
        from = at + by.size();
    }
    parts.push_back(text.substr(from));
    return parts;
}

}  // namespace

std::vector<FramingCase> framing_cases() {
    std::ifstream file{"tests/transport/framing_cases.txt"};
    if (!file) throw std::runtime_error("tests/transport/framing_cases.txt is missing");
    std::vector<FramingCase> cases;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        const std::vector<std::string> columns = split(line, " | ");
        if (columns.size() != 4) throw std::runtime_error("framing_cases.txt: " + line);
        cases.push_back({.name = columns[0],
                         .answers = split(unescaped(columns[1]), " ; "),
                         .stays_open = columns[2] == "open",
                         .bytes = unescaped(columns[3])});
    }
    return cases;
}

}  // namespace waybill::test
