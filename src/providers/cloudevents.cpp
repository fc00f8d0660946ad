#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "providers/mapping.hpp"
#include "providers/signed_string.hpp"
#include "providers/timestamp.hpp"

/// CloudEvents 1.0 over HTTP: in binary mode the headers say what the body is, in structured mode
/// the body is a document that says it.
namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;

constexpr std::string_view kPrefix = "ce-";
constexpr std::size_t kValueBytesMax = 4'096;

std::string media_type(const HttpRequest& request) {
    const std::string* value = request.headers.find("Content-Type");
    if (value == nullptr) return {};
    std::string_view type = std::string_view{*value}.substr(0, value->find(';'));
    while (type.ends_with(' ')) type.remove_suffix(1);
    return lower_ascii(type);
}

/// Values in headers are percent-encoded where they are not printable ASCII.
std::string percent_decoded(std::string_view text) {
    std::string escaped;  // a plus is a plus here
    for (const char c : text) c == '+' ? escaped += "%2B" : escaped += c;
    const auto fields = form_fields("x=" + escaped);
    return fields && fields->size() == 1 ? fields->front().second : std::string{text};
}

void put(Attributes& attributes, const std::string& name, std::string value) {
    if (value.size() > kValueBytesMax || !is_storable_text(value)) return;
    attributes.insert_or_assign(std::string{kPrefix} + name, std::move(value));
}

/// Context attributes by name, of either mode, as "ce-NAME".
Attributes binary_context(const HttpRequest& request) {
    Attributes context;
    for (const HttpHeader& header : request.headers) {
        const std::string name = lower_ascii(header.name);
        if (!name.starts_with(kPrefix)) continue;
        put(context, name.substr(kPrefix.size()), percent_decoded(header.value));
    }
    return context;
}

std::optional<std::string> text_of(const json::Value& value) {
    return value.visit([](const auto& data) -> std::optional<std::string> {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::same_as<Data, std::string>) return data;
        if constexpr (std::same_as<Data, bool>) return std::string{data ? "true" : "false"};
        if constexpr (std::integral<Data> && !std::same_as<Data, bool>) return std::to_string(data);
        return std::nullopt;
    });
}

Attributes structured_context(const json::Object& document) {
    Attributes context;
    for (const auto& [name, value] : document) {
        if (name == "data" || name == "data_base64" || name.size() > 64) continue;
        if (auto text = text_of(value)) put(context, lower_ascii(name), *std::move(text));
    }
    return context;
}

std::string value_of(const Attributes& context, const char* name) {
    const auto found = context.find(name);
    return found == context.end() ? std::string{} : found->second;
}

Verdict from_context(Attributes context, const Source& source, Reading& reading, bool is_signed) {
    for (const char* name : {"ce-specversion", "ce-id", "ce-source", "ce-type"}) {
        if (!value_of(context, name).empty()) continue;
        return Rejected{Reason::missing, "the CloudEvent has no " + std::string{name + 3}};
    }
    if (value_of(context, "ce-specversion") != "1.0") {
        return Rejected{Reason::malformed, "the CloudEvent is not of specversion 1.0"};
    }
    Parsed parsed{.type = value_of(context, "ce-type")};
    // An id is unique within its source, which is a URI and has no space.
    parsed.id = value_of(context, "ce-source") + " " + value_of(context, "ce-id");
    parsed.id_is_signed = is_signed;
    parsed.lane = source.lane.empty() ? value_of(context, "ce-partitionkey")
                                      : reading.find(source.lane).value_or("");
    if (!source.tenant.empty()) parsed.tenant = reading.find(source.tenant).value_or("");
    const std::string time = value_of(context, "ce-time");
    if (!time.empty()) {
        parsed.occurred_at = parse_time(time, TimeUnit::rfc3339).value_or(StoreTime{});
    }
    parsed.attributes = std::move(context);
    return parsed;
}

}  // namespace

Verdict map_cloudevent(const Scheme& scheme, const Arrival& arrival, Reading& reading) {
    const std::string type = media_type(arrival.request);
    const bool signs = scheme.algorithm != Algorithm::token;
    if (type.starts_with("application/cloudevents-batch")) {
        return Rejected{Reason::unreadable, "batches of CloudEvents are not taken; send one by one",
                        415};
    }
    if (!type.starts_with("application/cloudevents")) {
        const bool is_signed = signs && covers(scheme, "header:ce-id");
        return from_context(binary_context(arrival.request), arrival.source, reading, is_signed);
    }
    if (type != "application/cloudevents+json" && type != "application/cloudevents") {
        return Rejected{Reason::unreadable,
                        type + " is not taken; send application/cloudevents+json", 415};
    }
    const json::Value* document = reading.body();
    if (document == nullptr) {
        return Rejected{Reason::unreadable, "the body " + reading.problem()};
    }
    // Asks for each name, so that one that is there twice is noticed.
    for (const char* name : {"json:specversion", "json:id", "json:source", "json:type"}) {
        static_cast<void>(reading.find(name));
    }
    Attributes context = document->visit([](const auto& data) {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::same_as<Data, json::Object>) return structured_context(data);
        return Attributes{};
    });
    return from_context(std::move(context), arrival.source, reading,
                        signs && covers(scheme, "json:id"));
}

}  // namespace waybill::providers
