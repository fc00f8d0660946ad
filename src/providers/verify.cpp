#include "providers/verify.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "providers/key.hpp"
#include "providers/signature.hpp"
#include "providers/signed_string.hpp"
#include "providers/timestamp.hpp"
#include "waybill/providers.hpp"

namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;

void note(const Arrival& arrival, std::string what, bool good, std::string found) {
    if (arrival.evidence == nullptr) return;
    arrival.evidence->steps.push_back({std::move(what), good, std::move(found)});
}

std::string spoken(Duration skew) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(skew).count();
    return seconds >= 0 ? std::to_string(seconds) + " s old"
                        : std::to_string(-seconds) + " s in the future";
}

/// Which secret signed one of the strings.
std::variant<std::size_t, Rejected> matching_secret(const Scheme& scheme, const Arrival& arrival,
                                                    const Claim& claim,
                                                    const std::vector<SignedString>& texts) {
    const std::vector<std::string>& secrets = arrival.source.secrets;
    bool any_usable = false;
    for (std::size_t i = 0; i < secrets.size(); ++i) {
        const std::vector<Key> keys = keys_of(scheme, secrets[i]);
        any_usable = any_usable || !keys.empty();
        for (const Key& key : keys) {
            const bool good = std::ranges::any_of(texts, [&](const SignedString& text) {
                return key.matches(text, claim.candidates);
            });
            if (!good) continue;
            note(arrival, "secret " + std::to_string(i + 1), true, "matches");
            return i;
        }
        note(arrival, "secret " + std::to_string(i + 1), false,
             keys.empty() ? "is not " + std::string{form_of_secret(scheme)} : "does not match");
    }
    if (!any_usable) return Rejected{Reason::misconfigured, "the source has no usable secret"};
    return Rejected{Reason::mismatch, "the signature is not right with any secret of this source"};
}

std::optional<Rejected> check_freshness(const Scheme& scheme, const Arrival& arrival,
                                        const Claim& claim) {
    if (!claim.sent_at) return std::nullopt;
    const Duration tolerance = arrival.source.tolerance.value_or(scheme.tolerance);
    const Duration skew = floor_to(arrival.now, scheme.unit) - *claim.sent_at;
    if (arrival.evidence != nullptr) arrival.evidence->skew = skew;
    const bool is_fresh = tolerance == forever || (skew <= tolerance && skew >= -tolerance);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(tolerance).count();
    const std::string allowed = tolerance == forever ? "any" : std::to_string(seconds) + " s";
    note(arrival, "timestamp", is_fresh, spoken(skew) + "; " + allowed + " allowed");
    if (is_fresh) return std::nullopt;
    return Rejected{Reason::stale,
                    "the request is " + spoken(skew) + "; at most " + allowed + " are allowed"};
}

}  // namespace

std::variant<Verified, Rejected> verify(const Scheme& scheme, const Arrival& arrival,
                                        Reading& reading) {
    auto claimed = read_claim(scheme, reading);
    if (auto* refused = std::get_if<Rejected>(&claimed)) {
        note(arrival, "signature", false, refused->message);
        return std::move(*refused);
    }
    Claim& claim = std::get<Claim>(claimed);
    note(arrival, "signature", true, std::to_string(claim.candidates.size()) + " found");

    auto made = signed_strings(scheme, arrival, reading, claim);
    if (auto* refused = std::get_if<Rejected>(&made)) {
        note(arrival, "signed string", false, refused->message);
        return std::move(*refused);
    }
    const auto& texts = std::get<std::vector<SignedString>>(made);
    if (arrival.evidence != nullptr && scheme.algorithm != Algorithm::token) {
        arrival.evidence->signed_string = texts.front().joined();
    }
    auto secret = matching_secret(scheme, arrival, claim, texts);
    if (auto* refused = std::get_if<Rejected>(&secret)) return std::move(*refused);
    if (auto refused = read_late_time(scheme, reading, claim)) return *std::move(refused);
    if (auto stale = check_freshness(scheme, arrival, claim)) return *std::move(stale);
    return Verified{std::get<std::size_t>(secret), claim.sent_at};
}

}  // namespace waybill::providers
