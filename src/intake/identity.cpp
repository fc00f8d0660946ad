#include "intake/identity.hpp"

#include "core/sha256.hpp"
#include "core/text.hpp"
#include "waybill/message_check.hpp"
#include "waybill/signing.hpp"

namespace waybill::intake {
namespace {

std::string hash_of(std::string_view text) {
    return signing::to_hex(sha256_bytes(text));
}

}  // namespace

std::string without_colons(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == ':') {
            safe += "%3A";
        } else if (c == '%') {
            safe += "%25";
        } else {
            safe += c;
        }
    }
    return safe;
}

std::string dedup_key(const Source& source, const Parsed& parsed, std::string_view body) {
    if (parsed.id.empty() && !parsed.body_is_identity) return {};
    // Two tenants may count their events alike, and none shall lose one to the other.
    const std::string scope = source.name + ":" + without_colons(parsed.tenant) + ":";
    if (parsed.id.empty()) return scope + "body:" + hash_of(body);
    const std::string key = scope + "id:" + parsed.id;
    if (key.size() <= field_bytes_max && is_storable_text(key)) return key;
    return source.name + "::hash:" + hash_of(key);
}

}  // namespace waybill::intake
