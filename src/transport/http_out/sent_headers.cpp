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
    // Neither of the two moves any more: lines point into the text, and at each other.
    text_.reserve(bytes);
    lines_.reserve(headers.size() + 2);
    const auto add = [&](std::string_view name, std::string_view mark, std::string_view value) {
        lines_.push_back({text_.data() + text_.size(), nullptr});
        if (lines_.size() > 1) lines_[lines_.size() - 2].next = &lines_.back();
        text_.append(name).append(mark).append(value).push_back('\0');
    };
    add(kNoExpect, {}, {});
    if (headers.find("Content-Type") == nullptr) add(kNoContentType, {}, {});
    for (const auto& [name, value] : headers) add(name, value.empty() ? ";" : ": ", value);
}

}  // namespace waybill::http_out
