#include "providers/catalogue_provider.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/address.hpp"
#include "core/wording.hpp"
#include "providers/catalogue.hpp"
#include "providers/handshake.hpp"
#include "providers/key.hpp"
#include "providers/mapping.hpp"
#include "providers/verify.hpp"

namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;

constexpr std::size_t kSecretsMax = 8;

/// Whether the request has a signature of this kind.
bool offers(const Scheme& scheme, Reading& reading) {
    const std::optional<std::string> value = reading.find(scheme.signature);
    if (!value || scheme.syntax != Syntax::pairs) return value.has_value();
    return pair_value(*value, scheme.separator, scheme.label).has_value();
}

bool signs_url(const Scheme& scheme) {
    return scheme.signed_string.find("{url}") != std::string_view::npos;
}

void check_secrets(const Entry& entry, const Scheme& first, const Source& source,
                   Problems& problems) {
    if (source.secrets.empty() && !entry.open_on_loopback) {
        problems.push_back("secrets is empty; provider \"" + std::string{entry.key} +
                           "\" needs one");
    }
    if (source.secrets.size() > kSecretsMax) {
        problems.push_back("secrets has " + std::to_string(source.secrets.size()) +
                           "; at most 8 are tried");
    }
    for (std::size_t i = 0; i < source.secrets.size(); ++i) {
        const std::string& secret = source.secrets[i];
        const Scheme& second = entry.schemes[1];
        const bool is_usable = !keys_of(first, secret).empty() ||
                               (!second.signature.empty() && !keys_of(second, secret).empty());
        if (is_usable) continue;
        problems.push_back("secret " + std::to_string(i + 1) + " must be " +
                           std::string{form_of_secret(first)});
    }
}

void check_places(const Source& source, Problems& problems) {
    const std::pair<const char*, const std::string*> places[]{{"event_type", &source.event_type},
                                                              {"event_id", &source.event_id},
                                                              {"lane", &source.lane},
                                                              {"tenant", &source.tenant}};
    for (const auto& [name, place] : places) {
        if (place->empty() || is_place(*place)) continue;
        problems.push_back(std::string{name} + " is " + detail::in_quotes(*place) +
                           "; use \"header:NAME\", \"query:NAME\" or \"json:PATH\"");
    }
}

}  // namespace

Problems CatalogueProvider::check(const Source& source) const {
    Problems problems;
    if (entry_.configured != nullptr) problems = check_signature_options(source.signature);
    const Scheme first =
        entry_.configured != nullptr ? entry_.configured(source) : entry_.schemes[0];
    check_secrets(entry_, first, source, problems);
    check_places(source, problems);
    if (source.tolerance && *source.tolerance <= Duration::zero()) {
        problems.push_back("tolerance must be more than zero");
    }
    if (signs_url(first) && source.public_url.empty()) {
        problems.push_back("public_url is empty; provider \"" + std::string{entry_.key} +
                           "\" signs the URL it was told to call");
    }
    if (first.algorithm == Algorithm::rsa && source.webhook_id.empty()) {
        problems.push_back("webhook_id is empty; provider \"" + std::string{entry_.key} +
                           "\" signs it");
    }
    return problems;
}

Scheme CatalogueProvider::scheme_for(const Source& source, Reading& reading) const {
    if (entry_.configured != nullptr) return entry_.configured(source);
    const Scheme& second = entry_.schemes[1];
    const bool is_second =
        !second.signature.empty() && !offers(entry_.schemes[0], reading) && offers(second, reading);
    return is_second ? second : entry_.schemes[0];
}

Verdict CatalogueProvider::receive(const Arrival& arrival) const {
    Reading reading{arrival.request, arrival.content()};
    if (auto answer = unsigned_handshake(entry_.handshake, arrival, reading)) {
        return *std::move(answer);
    }
    if (arrival.source.cloudevents) {
        if (auto answer = unsigned_handshake(Handshake::cloudevents, arrival, reading)) {
            return *std::move(answer);
        }
    }
    if (arrival.request.method != "POST") {
        return Rejected{Reason::malformed, "webhooks are sent with POST", 405};
    }
    Verdict verdict = verified_event(arrival, reading);
    auto* refused = std::get_if<Rejected>(&verdict);
    const bool is_about_signature = refused != nullptr && (refused->reason == Reason::mismatch ||
                                                           refused->reason == Reason::missing ||
                                                           refused->reason == Reason::malformed);
    if (is_about_signature && refused->status == 0) refused->status = entry_.bad_signature_status;
    return verdict;
}

Verdict CatalogueProvider::verified_event(const Arrival& arrival, Reading& reading) const {
    const Scheme scheme = scheme_for(arrival.source, reading);
    Verified verified;
    if (entry_.open_on_loopback && arrival.source.secrets.empty()) {
        if (!is_loopback_address(arrival.request.remote_address)) {
            return Rejected{Reason::forbidden,
                            "this source takes requests from this host only, as it has no secret",
                            403};
        }
        Verdict verdict = map_event(entry_, scheme, arrival, reading, verified);
        if (auto* parsed = std::get_if<Parsed>(&verdict)) parsed->secret.reset();
        return verdict;
    }
    auto checked = verify(scheme, arrival, reading);
    if (auto* refused = std::get_if<Rejected>(&checked)) return std::move(*refused);
    verified = std::get<Verified>(checked);
    if (auto answer = signed_handshake(entry_.handshake, arrival, reading, verified.secret)) {
        return *std::move(answer);
    }
    return map_event(entry_, scheme, arrival, reading, verified);
}

}  // namespace waybill::providers
