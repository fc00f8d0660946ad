#include "transport/http_out/sent_headers.hpp"

#include <string_view>

namespace waybill::http_out {
namespace {

/// Without "100-continue" a body is sent at once.
constexpr std::string_view kNoExpect = "Expect:";
/// Or libcurl would name one of its own.
constexpr std::string_view kNoContentType = "Content-Type:";

}  // namespace

SentHeaders::SentHeaders(const HttpHeaders& headers) {
    std::size_t bytes = kNoExpect.size() + kNoContentType.size() + 2;
    for (const auto& [name, value] : headers) bytes += name.size() + value.size() + 3;
    text_.reserve(bytes);
    std::vector<std::size_t> begins;
    begins.reserve(headers.size() + 2);
    const auto add = [&](std::string_view name, std::string_view mark, std::string_view value) {
        begins.push_back(text_.size());
        text_.append(name).append(mark).append(value).push_back('\0');
    };
    add(kNoExpect, {}, {});
    if (headers.find("Content-Type") == nullptr) add(kNoContentType, {}, {});
    for (const auto& [name, value] : headers) add(name, value.empty() ? ";" : ": ", value);

    lines_.reserve(begins.size());
    for (const std::size_t begin : begins) lines_.push_back({text_.data() + begin, nullptr});
    for (std::size_t i = 1; i < lines_.size(); ++i) lines_[i - 1].next = &lines_[i];
}

}  // namespace waybill::http_out
