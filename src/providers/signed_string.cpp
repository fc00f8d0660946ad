#include "providers/signed_string.hpp"

#include <algorithm>
#include <array>

namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;

constexpr std::array<std::string_view, 6> kNames{"body",   "timestamp", "id",
                                                 "method", "url",       "path"};

/// A template, piece by piece: {name} or the text between.
struct TemplatePiece {
    bool is_name = false;
    std::string_view text{};
};

std::optional<TemplatePiece> next_piece(std::string_view& rest) {
    if (rest.empty()) return std::nullopt;
    if (rest.front() != '{') {
        const std::string_view text = rest.substr(0, rest.find('{'));
        rest.remove_prefix(text.size());
        return TemplatePiece{false, text};
    }
    rest.remove_prefix(1);
    return TemplatePiece{true, cut(rest, '}')};
}

bool needs_url(const Scheme& scheme) {
    return scheme.signed_string.find("{url}") != std::string_view::npos;
}

}  // namespace

std::string SignedString::joined() const {
    std::string all;
    for (const std::string_view piece : pieces_) all += piece;
    return all;
}

std::string called_url(const Arrival& arrival) {
    std::string url = arrival.source.public_url;
    const std::string_view query = arrival.request.query();
    if (!query.empty() && url.find('?') == std::string::npos) url.append("?").append(query);
    return url;
}

std::string template_problem(std::string_view text) {
    if (text.find("{body}") == std::string_view::npos) return "does not sign the {body}";
    if (std::ranges::count(text, '{') != std::ranges::count(text, '}')) return "has a lonely brace";
    while (const auto piece = next_piece(text)) {
        if (!piece->is_name || std::ranges::find(kNames, piece->text) != kNames.end()) continue;
        if (piece->text.starts_with("header:") || piece->text.starts_with("json:")) continue;
        return "has {" + std::string{piece->text} +
               "}; use {body}, {timestamp}, {method}, {url}, {path} or {header:NAME}";
    }
    return {};
}

bool covers(const Scheme& scheme, std::string_view place) {
    if (scheme.algorithm == Algorithm::token) return false;
    const std::string_view text = scheme.signed_string;
    if (place.starts_with("json:") || place.starts_with("form:")) {
        return scheme.signed_strings != nullptr || text.find("{body}") != std::string_view::npos;
    }
    if (place.starts_with("query:")) return scheme.signed_strings != nullptr || needs_url(scheme);
    if (!scheme.id.empty() && scheme.id.find(place) != std::string_view::npos) {
        return text.find("{id}") != std::string_view::npos;
    }
    return text.find("{" + std::string{place} + "}") != std::string_view::npos;
}

std::variant<std::vector<SignedString>, Rejected> signed_strings(const Scheme& scheme,
                                                                 const Arrival& arrival,
                                                                 Reading& reading,
                                                                 const Claim& claim) {
    std::vector<SignedString> all;
    if (scheme.signed_strings != nullptr) {
        for (std::string& text : scheme.signed_strings(arrival)) all.emplace_back(std::move(text));
        if (all.empty()) return Rejected{Reason::malformed, "the request lacks what is signed"};
        return all;
    }
    if (needs_url(scheme) && arrival.source.public_url.empty()) {
        return Rejected{Reason::misconfigured, "the source has no public_url, and it is signed"};
    }
    SignedString& made = all.emplace_back();
    std::string_view rest = scheme.signed_string;
    while (const auto piece = next_piece(rest)) {
        if (!piece->is_name) {
            made.refer(piece->text);
        } else if (piece->text == "body") {
            made.refer(arrival.request.body);
        } else if (piece->text == "timestamp") {
            made.refer(claim.timestamp);
        } else if (piece->text == "id") {
            made.refer(claim.id);
        } else if (piece->text == "method") {
            made.refer(arrival.request.method);
        } else if (piece->text == "path") {
            made.refer(arrival.request.target);
        } else if (piece->text == "url") {
            made.keep(called_url(arrival));
        } else {
            std::optional<std::string> value = reading.find(piece->text);
            if (!value) {
                return Rejected{Reason::missing, "there is no " + std::string{piece->text}};
            }
            made.keep(*std::move(value));
        }
    }
    return all;
}

}  // namespace waybill::providers
