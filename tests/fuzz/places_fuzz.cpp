/// Whatever a body is and wherever one looks in it: what is found is the same after the body was
/// written anew, and nothing found is empty.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "providers/reading.hpp"
#include "waybill/json/value.hpp"

using namespace waybill;
using namespace waybill::providers;

/// The first line is where to look, the rest is the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest{reinterpret_cast<const char*>(data), size};
    const std::string places{cut(rest, '\n')};
    const HttpRequest request{.method = "POST",
                              .target = "/?" + places,
                              .headers = {{"X-Id", std::string{rest.substr(0, 100)}}},
                              .body = std::string{rest}};
    Reading reading{request};
    const auto found = reading.find(places);
    if (found && found->empty()) std::abort();

    const json::Value* body = reading.body();
    if (body == nullptr || reading.is_ambiguous()) return 0;
    HttpRequest again = request;
    again.body = json::to_text(*body);
    Reading second{again};
    const bool looks_elsewhere = places.find("form:") != std::string::npos;
    if (!looks_elsewhere && second.find(places) != found) std::abort();
    return 0;
}
