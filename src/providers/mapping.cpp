#include "providers/mapping.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "providers/signed_string.hpp"

namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;

constexpr std::size_t kKeptBytesMax = 4'096;

/// A value and the place it came from.
struct Found {
    std::string value{};
    std::string_view place{};
};

Found find_first(Reading& reading, std::string_view places) {
    while (!places.empty()) {
        const std::string_view place = cut(places, '|');
        if (auto value = reading.find(place)) return {*std::move(value), place};
    }
    return {};
}

std::string_view chosen(const std::string& configured, std::string_view own) {
    return configured.empty() ? own : std::string_view{configured};
}

/// What is needed to verify the request again, and to see why it was taken for what it is.
void keep_headers(const Scheme& scheme, const Mapping& mapping, const Arrival& arrival,
                  Attributes& attributes) {
    const bool shows_secret = scheme.algorithm == Algorithm::token;
    for (std::string_view places : {shows_secret ? std::string_view{} : scheme.signature,
                                    scheme.timestamp, scheme.id, mapping.type, mapping.id}) {
        while (!places.empty()) {
            keep_header(arrival.request, header_name(cut(places, '|')), attributes);
        }
    }
    for (const std::string& name : arrival.source.keep_headers) {
        keep_header(arrival.request, name, attributes);
    }
}

Rejected no_type(Reading& reading, std::string_view places) {
    const bool in_body = places.find("json:") != std::string_view::npos;
    if (in_body && reading.body() == nullptr) {
        return {Reason::unreadable, "the body " + reading.problem()};
    }
    return {Reason::missing, "there is no event type in " + std::string{places}};
}

}  // namespace

void keep_header(const HttpRequest& request, std::string_view name, Attributes& attributes) {
    const std::string* value = request.headers.find(name);
    if (value == nullptr || value->size() > kKeptBytesMax || !is_storable_text(*value)) return;
    attributes.insert_or_assign("header." + lower_ascii(name), *value);
}

Verdict map_event(const Entry& entry, const Scheme& scheme, const Arrival& arrival,
                  Reading& reading, const Verified& verified) {
    Verdict verdict;
    if (arrival.source.cloudevents || entry.mapping.type.empty()) {
        verdict = map_cloudevent(scheme, arrival, reading);
    } else {
        const Source& source = arrival.source;
        const std::string_view type_places = chosen(source.event_type, entry.mapping.type);
        Parsed parsed{.type = find_first(reading, type_places).value};
        if (parsed.type.empty()) return no_type(reading, type_places);
        const Found id = find_first(reading, chosen(source.event_id, entry.mapping.id));
        parsed.id = id.value;
        parsed.id_is_signed = !entry.body_is_loose && !id.value.empty() && covers(scheme, id.place);
        parsed.body_is_identity = !entry.repeats_itself;
        parsed.lane = find_first(reading, chosen(source.lane, entry.mapping.lane)).value;
        parsed.tenant = find_first(reading, chosen(source.tenant, entry.mapping.tenant)).value;
        parsed.correlation_id = find_first(reading, entry.mapping.correlation).value;
        verdict = std::move(parsed);
    }
    if (reading.is_ambiguous()) {
        return Rejected{Reason::unreadable, "the body " + reading.problem()};
    }
    if (auto* parsed = std::get_if<Parsed>(&verdict)) {
        parsed->secret = verified.secret;
        keep_headers(scheme, entry.mapping, arrival, parsed->attributes);
        keep_header(arrival.request, "traceparent", parsed->attributes);
    }
    return verdict;
}

}  // namespace waybill::providers
