#include "providers/signature.hpp"

#include <algorithm>
#include <utility>

#include "core/credentials.hpp"
#include "core/webhook/signature_list.hpp"
#include "providers/timestamp.hpp"
#include "waybill/signing.hpp"

namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;

constexpr std::string_view kPair = "pair:";

/// The name people know it by.
std::string spoken(std::string_view place) {
    return std::string{place.substr(place.find(':') + 1)};
}

std::string_view trimmed_front(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text;
}

struct Text {
    std::string_view version{};
    std::string_view signature{};
};

/// The signatures in one place, still encoded.
std::vector<Text> split(const Scheme& scheme, std::string_view value) {
    std::vector<Text> texts;
    if (scheme.syntax == Syntax::bare) return {{{}, value}};
    if (scheme.syntax == Syntax::prefixed) {
        // The name of an authentication scheme has no case; a prefix of a signature does.
        if (scheme.algorithm == Algorithm::token) {
            const auto shown = credentials(value, scheme.label.substr(0, scheme.label.size() - 1));
            if (shown) texts.push_back({{}, *shown});
        } else if (value.starts_with(scheme.label)) {
            texts.push_back({{}, value.substr(scheme.label.size())});
        }
        return texts;
    }
    if (scheme.syntax == Syntax::versions) {
        for (const auto& [version, text] : webhook::listed_signatures(value)) {
            texts.push_back({version, text});
        }
        return texts;
    }
    while (!value.empty()) {
        std::string_view item = cut(value, scheme.separator);
        if (trimmed_front(cut(item, '=')) == scheme.label) texts.push_back({{}, item});
    }
    return texts;
}

std::optional<std::string> decoded(Encoding encoding, std::string_view text) {
    switch (encoding) {
        case Encoding::hex: return signing::from_hex(text);
        case Encoding::base64: return signing::from_base64(text);
        case Encoding::text: return std::string{text};
    }
    return std::nullopt;
}

/// In the body, and only to be believed once the body is.
bool is_read_later(const Scheme& scheme) {
    return scheme.timestamp.starts_with("json:") && scheme.signed_strings == nullptr &&
           scheme.signed_string.find("{timestamp}") == std::string_view::npos;
}

std::optional<Rejected> put_time(const Scheme& scheme, std::optional<std::string> text,
                                 Claim& claim) {
    const std::string name = spoken(scheme.timestamp);
    if (!text) return Rejected{Reason::missing, "there is no timestamp in " + name};
    claim.timestamp = *std::move(text);
    claim.sent_at = parse_time(claim.timestamp, scheme.unit);
    if (!claim.sent_at) return Rejected{Reason::malformed, name + " is not a timestamp"};
    return std::nullopt;
}

/// Collects what a claim consists of; the first thing wrong stays.
class ClaimReader {
public:
    ClaimReader(const Scheme& scheme, Reading& reading) : scheme_(scheme), reading_(reading) {}

    std::variant<Claim, Rejected> read() {
        std::string_view places = scheme_.signature;
        while (!places.empty() && !problem_) read_place(cut(places, '|'));
        if (!problem_ && present_ == 0) {
            refuse(Reason::missing, "there is no " + spoken(scheme_.signature));
        }
        if (!problem_ && claim_.candidates.empty()) {
            refuse(Reason::malformed,
                   spoken(scheme_.signature) + " has no signature of the form " + form());
        }
        if (!problem_) read_timestamp();
        if (!problem_) read_id();
        if (problem_) return *std::move(problem_);
        return std::move(claim_);
    }

private:
    void refuse(Reason reason, std::string message) { problem_ = {reason, std::move(message)}; }

    std::string form() const {
        const char* const encoding = scheme_.encoding == Encoding::hex      ? "hex"
                                     : scheme_.encoding == Encoding::base64 ? "base64"
                                                                            : "text";
        switch (scheme_.syntax) {
            case Syntax::bare: return encoding;
            case Syntax::prefixed: return "\"" + std::string{scheme_.label} + "\" and " + encoding;
            case Syntax::pairs: return "\"" + std::string{scheme_.label} + "=\" and " + encoding;
            case Syntax::versions: return "\"v1,\" and base64";
        }
        return encoding;
    }

    void read_place(std::string_view place) {
        if (contradicts(header_name(place))) {
            return refuse(Reason::malformed, spoken(place) + " is there twice and differs");
        }
        const std::optional<std::string> value = reading_.find(place);
        if (!value) return;
        ++present_;
        if (value->size() > signature_bytes_max) {
            return refuse(Reason::malformed, spoken(place) + " is too long");
        }
        if (scheme_.syntax == Syntax::pairs && !is_pair_list(*value, scheme_.separator)) {
            return refuse(Reason::malformed, spoken(place) + " is not a list of name=value");
        }
        if (first_.empty()) first_ = *value;
        std::size_t offered = 0;
        for (const Text& text : split(scheme_, *value)) {
            if (++offered > candidates_max) {
                return refuse(Reason::malformed, spoken(place) + " has too many signatures");
            }
            std::optional<std::string> bytes = decoded(scheme_.encoding, text.signature);
            if (bytes) claim_.candidates.push_back({text.version, *std::move(bytes)});
        }
    }

    bool contradicts(std::string_view name) const {
        const std::string* first = nullptr;
        for (const HttpHeader& header : reading_.request().headers) {
            if (!same_name(header.name, name)) continue;
            if (first != nullptr && header.value != *first) return true;
            first = &header.value;
        }
        return false;
    }

    void read_timestamp() {
        if (scheme_.timestamp.empty() || is_read_later(scheme_)) return;
        const bool is_pair = scheme_.timestamp.starts_with(kPair);
        problem_ = put_time(scheme_,
                            is_pair ? in_signature(scheme_.timestamp.substr(kPair.size()))
                                    : reading_.find(scheme_.timestamp),
                            claim_);
    }

    std::optional<std::string> in_signature(std::string_view name) const {
        const auto value = pair_value(first_, scheme_.separator, name);
        return value ? std::optional{std::string{*value}} : std::nullopt;
    }

    void read_id() {
        if (scheme_.id.empty()) return;
        const std::optional<std::string> id = reading_.find(scheme_.id);
        if (!id) return refuse(Reason::missing, "there is no " + spoken(scheme_.id));
        claim_.id = *id;
    }

    const Scheme& scheme_;
    Reading& reading_;
    Claim claim_{};
    std::size_t present_ = 0;
    std::string first_{};
    std::optional<Rejected> problem_{};
};

}  // namespace

bool is_pair_list(std::string_view list, char separator) {
    for (bool more = true; more;) {
        more = list.find(separator) != std::string_view::npos;
        const std::string_view part = cut(list, separator);
        if (std::ranges::count(part, '=') != 1 || part.ends_with('=')) return false;
    }
    return true;
}

std::optional<std::string_view> pair_value(std::string_view list, char separator,
                                           std::string_view name) {
    while (!list.empty()) {
        std::string_view part = cut(list, separator);
        if (trimmed_front(cut(part, '=')) == name) return part;
    }
    return std::nullopt;
}

std::optional<Rejected> read_late_time(const Scheme& scheme, Reading& reading, Claim& claim) {
    if (!is_read_later(scheme)) return std::nullopt;
    return put_time(scheme, reading.find(scheme.timestamp), claim);
}

std::variant<Claim, Rejected> read_claim(const Scheme& scheme, Reading& reading) {
    return ClaimReader{scheme, reading}.read();
}

}  // namespace waybill::providers
