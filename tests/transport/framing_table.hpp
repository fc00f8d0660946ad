#pragma once

#include <string>
#include <vector>

namespace waybill::test {

/// One connection: what is sent on it, and what must come back.
struct FramingCase {
    std::string name{};
    /// "200=POST /x abc" (the request as the handler saw it) or "400=bad-chunk" (the code).
    std::vector<std::string> answers{};
    /// Whether the connection can be used again afterwards.
    bool stays_open = false;
    std::string bytes{};
};

/// The rows of framing_cases.txt, whose first lines say how to read it.
std::vector<FramingCase> framing_cases();

}  // namespace waybill::test
