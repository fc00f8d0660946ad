#include <map>
#include <utility>

#include "core/text.hpp"
#include "providers/catalogue.hpp"
#include "providers/catalogue_provider.hpp"
#include "providers/handshake.hpp"
#include "providers/signed_string.hpp"
#include "waybill/providers.hpp"

namespace waybill::providers {
namespace {

using Registry = std::map<std::string, std::shared_ptr<const CatalogueProvider>, std::less<>>;

const Registry& registry() {
    static const Registry all = [] {
        Registry made;
        for (const auto entries : {payment_providers(), developer_providers(), message_providers(),
                                   office_providers(), standard_providers()}) {
            for (const Entry& entry : entries) {
                made.emplace(entry.key, std::make_shared<CatalogueProvider>(entry));
            }
        }
        return made;
    }();
    return all;
}

std::string_view name_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::hmac_sha1: return "HMAC-SHA1";
        case Algorithm::hmac_sha256: return "HMAC-SHA256";
        case Algorithm::hmac_sha512: return "HMAC-SHA512";
        case Algorithm::sha256_of_secret_first: return "SHA-256 with the secret first";
        case Algorithm::token: return "a token";
        case Algorithm::ed25519: return "Ed25519";
        case Algorithm::p256: return "ECDSA P-256";
        case Algorithm::rsa: return "RSA SHA-256";
    }
    return "";
}

std::string in_words(const Scheme& scheme) {
    std::string text{name_of(scheme.algorithm)};
    if (scheme.algorithm != Algorithm::token) {
        text += scheme.encoding == Encoding::hex ? " (hex)" : " (base64)";
        text += scheme.signed_strings != nullptr ? " of a string of its own"
                                                 : " of " + std::string{scheme.signed_string};
    }
    return text + " in " + std::string{scheme.signature};
}

/// Composed of two functions.
class Composed final : public Provider {
public:
    Composed(std::string key, Validator validator, Mapper mapper)
        : key_(std::move(key)), validator_(std::move(validator)), mapper_(std::move(mapper)) {}

    std::string_view key() const override { return key_; }
    Problems check(const Source&) const override { return {}; }
    Verdict receive(const Arrival& arrival) const override {
        if (auto refused = validator_(arrival)) return *std::move(refused);
        return mapper_(arrival);
    }

private:
    const std::string key_;
    const Validator validator_;
    const Mapper mapper_;
};

}  // namespace

const CatalogueProvider* find_in_catalogue(std::string_view key) {
    const auto found = registry().find(lower_ascii(key));
    return found == registry().end() ? nullptr : found->second.get();
}

std::shared_ptr<const Provider> find(std::string_view key) {
    const auto found = registry().find(lower_ascii(key));
    return found == registry().end() ? nullptr : found->second;
}

std::vector<std::string_view> keys() {
    std::vector<std::string_view> all;
    for (const auto& [key, provider] : registry()) all.push_back(key);
    return all;
}

std::optional<Info> info(std::string_view key) {
    const CatalogueProvider* provider = find_in_catalogue(key);
    if (provider == nullptr) return std::nullopt;
    const Entry& entry = provider->entry();
    const Source defaults;
    const Scheme scheme =
        entry.configured != nullptr ? entry.configured(defaults) : entry.schemes[0];
    std::string_view ids = entry.mapping.id;
    return Info{
        .key = entry.key,
        .scheme = in_words(scheme),
        .type = std::string{entry.mapping.type},
        .id = std::string{entry.mapping.id},
        .lane = std::string{entry.mapping.lane},
        .tenant = std::string{entry.mapping.tenant},
        .id_is_signed = !ids.empty() && !entry.body_is_loose && covers(scheme, cut(ids, '|')),
        .tolerance = scheme.timestamp.empty() ? Duration{} : scheme.tolerance,
        .handshake = std::string{to_string(entry.handshake)}};
}

std::shared_ptr<const Provider> compose(std::string key, Validator validator, Mapper mapper) {
    return std::make_shared<Composed>(std::move(key), std::move(validator), std::move(mapper));
}

}  // namespace waybill::providers
