/// Whatever the bytes of a connection are: the verdict does not depend on how they arrive, and what
/// is accepted has the shape it must have.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http_in/grammar.hpp"
#include "transport/http_in/request_reader.hpp"

namespace {

using waybill::HttpRequest;
using waybill::http_in::RequestLimits;
using waybill::http_in::RequestReader;

constexpr RequestLimits kLimits{
    .header_bytes_max = 1024, .fields_max = 20, .body_bytes_max = 256, .chunk_line_bytes_max = 64};

void require(bool good) {
    if (!good) std::abort();
}

void check(const HttpRequest& request) {
    require(waybill::http_in::is_token(request.method));
    require(request.target.starts_with('/'));
    require(waybill::http_in::is_target_text(request.target));
    require(request.headers.size() <= kLimits.fields_max);
    require(request.body.size() <= kLimits.body_bytes_max);
    require(request.headers.count("Content-Length") + request.headers.count("Transfer-Encoding") <=
            1);
    for (const auto& [name, value] : request.headers) {
        require(waybill::http_in::is_token(name));
        require(waybill::http_in::is_field_value(value));
    }
}

std::vector<std::string> verdicts(std::string_view bytes, std::size_t piece) {
    RequestReader reader{kLimits};
    std::vector<std::string> all;
    while (!bytes.empty()) {
        std::string_view now = bytes.substr(0, piece);
        bytes.remove_prefix(now.size());
        while (!now.empty()) {
            const std::size_t used = reader.read(now);
            require(used > 0 && used <= now.size());
            now.remove_prefix(used);
            if (reader.state() == RequestReader::State::refused) {
                all.emplace_back(reader.refusal().code);
                return all;
            }
            if (reader.state() != RequestReader::State::complete) continue;
            const bool stays = reader.keep_alive();
            const HttpRequest request = reader.take();
            check(request);
            all.push_back(request.method + " " + request.target + " " + request.body);
            if (!stays) return all;
        }
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const std::vector<std::string> whole = verdicts(bytes, bytes.size() + 1);
    require(whole == verdicts(bytes, 1));
    require(whole == verdicts(bytes, 13));
    return 0;
}
