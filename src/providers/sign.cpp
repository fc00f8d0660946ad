#include <string>
#include <utility>

#include "providers/catalogue_provider.hpp"
#include "providers/key.hpp"
#include "providers/timestamp.hpp"
#include "waybill/providers.hpp"
#include "waybill/signing.hpp"

namespace waybill::providers {
namespace {

std::string encoded(const Scheme& scheme, const std::string& bytes) {
    switch (scheme.encoding) {
        case Encoding::hex: return signing::to_hex(bytes);
        case Encoding::base64: return signing::to_base64(bytes);
        case Encoding::text: return bytes;
    }
    return bytes;
}

/// As it stands in its header.
std::string written(const Scheme& scheme, const std::string& signature, const Claim& claim) {
    switch (scheme.syntax) {
        case Syntax::bare: return signature;
        case Syntax::prefixed: return std::string{scheme.label} + signature;
        case Syntax::versions: return "v1," + signature;
        case Syntax::pairs: break;
    }
    std::string list;
    if (scheme.timestamp.starts_with("pair:")) {
        list = std::string{scheme.timestamp.substr(5)} + "=" + claim.timestamp + scheme.separator;
    }
    return list + std::string{scheme.label} + "=" + signature;
}

}  // namespace

std::optional<HttpRequest> sign(HttpRequest request, const Source& source, const std::string& id,
                                StoreTime now) {
    const CatalogueProvider* provider = find_in_catalogue(source.provider);
    if (provider == nullptr || source.secrets.empty()) return std::nullopt;
    const Scheme scheme = provider->entry().configured != nullptr
                              ? provider->entry().configured(source)
                              : provider->entry().schemes[0];
    std::string_view places = scheme.signature;
    const std::string header{header_name(cut(places, '|'))};
    if (header.empty()) return std::nullopt;

    Claim claim{.timestamp = write_time(now, scheme.unit), .id = id};
    if (const auto name = header_name(scheme.timestamp); !name.empty()) {
        request.headers.set(std::string{name}, claim.timestamp);
    }
    std::string_view ids = provider->entry().mapping.id;
    for (const std::string_view place : {scheme.id, cut(ids, '|')}) {
        if (const auto name = header_name(place); !name.empty() && !id.empty()) {
            request.headers.set(std::string{name}, id);
        }
    }
    const Arrival arrival{request, source, now};
    Reading reading{request};
    const auto texts = signed_strings(scheme, arrival, reading, claim);
    const auto keys = keys_of(scheme, source.secrets.front());
    if (!std::holds_alternative<std::vector<SignedString>>(texts) || keys.empty()) {
        return std::nullopt;
    }
    const auto bytes = keys.front().sign(std::get<std::vector<SignedString>>(texts).front());
    if (!bytes) return std::nullopt;
    request.headers.set(header, written(scheme, encoded(scheme, *bytes), claim));
    return request;
}

}  // namespace waybill::providers
