#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

/// URLs as libcurl reads them, so that what is judged is what is called.
namespace waybill::http_out {

struct UrlParts {
    /// In lower case.
    std::string scheme{};
    /// As it is connected to: IPv4 in any spelling is dotted, IPv6 has no brackets.
    std::string host{};
    /// 0: it has none that is a port.
    std::uint16_t port = 0;
    /// It names a user, a password or a fragment.
    bool has_more = false;
};
/// Nothing: it is not one.
std::optional<UrlParts> parts_of_url(const std::string& url);

/// Reads every URL once: most requests go where others went.
///
/// Thread safety: one thread.
class Urls {
public:
    /// Until the next call.
    const std::optional<UrlParts>& find(const std::string& url);

private:
    std::unordered_map<std::string, std::optional<UrlParts>> known_{};
};

}  // namespace waybill::http_out
