#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "providers/reading.hpp"
#include "waybill/providers.hpp"

/// On a mismatch, the usual mistakes are tried one by one: the one that helps is named.
namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;

constexpr std::size_t kShownBytesMax = 2'000;

bool passes(const HttpRequest& request, const Source& source, StoreTime now) {
    const auto provider = find(source.provider);
    const Verdict verdict = provider->receive({request, source, now});
    const auto* refused = std::get_if<Rejected>(&verdict);
    // What is refused later had a good signature.
    return refused == nullptr ||
           (refused->reason != Reason::mismatch && refused->reason != Reason::malformed &&
            refused->reason != Reason::misconfigured);
}

/// Bodies this one may have been before somebody touched it.
std::vector<std::pair<std::string, std::string>> other_bodies(const std::string& body) {
    std::vector<std::pair<std::string, std::string>> others;
    const auto add = [&](std::string other, std::string how) {
        if (other != body) others.emplace_back(std::move(other), std::move(how));
    };
    std::string_view bare = body;
    while (bare.ends_with('\n') || bare.ends_with('\r')) bare.remove_suffix(1);
    add(std::string{bare}, "a line end was added to the body after it was signed");
    add(body + "\n", "a line end at the end of the body was lost");
    add(body + "\r\n", "a line end at the end of the body was lost");
    std::string unix_lines = body;
    std::erase(unix_lines, '\r');
    add(std::move(unix_lines), "the line ends of the body were changed to CR LF");
    if (bare.starts_with("\xEF\xBB\xBF")) {
        add(body.substr(3), "a byte order mark was put before the body");
    }
    const HttpRequest parsed{.body = body};
    Reading reading{parsed};
    if (const json::Value* value = reading.body()) {
        try {
            add(json::to_text(*value),
                "the body was re-serialised: pass on the bytes as they came, not parsed JSON");
        } catch (const std::exception&) {
        }
    }
    return others;
}

std::string secret_cause(const HttpRequest& request, const Source& source, StoreTime now) {
    for (std::size_t i = 0; i < source.secrets.size(); ++i) {
        const std::string& secret = source.secrets[i];
        const std::string which = "secret " + std::to_string(i + 1) + " ";
        const auto helps = [&](std::string other) {
            Source changed = source;
            changed.secrets = {std::move(other)};
            return passes(request, changed, now);
        };
        std::string_view trimmed = secret;
        while (!trimmed.empty() &&
               std::string_view{" \t\r\n"}.find(trimmed.back()) != std::string_view::npos) {
            trimmed.remove_suffix(1);
        }
        if (trimmed != secret && helps(std::string{trimmed})) {
            return which + "ends in white space: remove it";
        }
        if (!secret.starts_with("whsec_") && helps("whsec_" + secret)) {
            return which + "lacks its \"whsec_\": give it as the sender shows it";
        }
        if (secret.starts_with("whsec_") && helps(secret.substr(6))) {
            return which + "is to be given without its \"whsec_\" for this provider";
        }
    }
    return {};
}

std::string url_cause(const HttpRequest& request, const Source& source, StoreTime now) {
    if (source.public_url.empty()) return {};
    std::vector<std::string> others;
    const std::string& url = source.public_url;
    others.push_back(url.ends_with('/') ? url.substr(0, url.size() - 1) : url + "/");
    if (url.starts_with("http://")) others.push_back("https://" + url.substr(7));
    if (url.starts_with("https://")) others.push_back("http://" + url.substr(8));
    const std::size_t path = url.find('/', url.find("//") + 2);
    if (path != std::string::npos) others.push_back(url.substr(0, path) + request.target);
    for (const std::string& other : others) {
        Source changed = source;
        changed.public_url = other;
        if (passes(request, changed, now)) {
            return "the sender called " + other +
                   ", and public_url says otherwise; a proxy may "
                   "have changed the path";
        }
    }
    return {};
}

std::string provider_cause(const HttpRequest& request, const Source& source, StoreTime now) {
    for (const std::string_view key : keys()) {
        if (same_name(key, source.provider) || key == "none" || key == "generic") continue;
        Source changed = source;
        changed.provider = key;
        const Verdict verdict = find(key)->receive({request, changed, now});
        const auto* refused = std::get_if<Rejected>(&verdict);
        const bool is_signed = std::holds_alternative<Parsed>(verdict) ||
                               (refused != nullptr && refused->reason == Reason::stale);
        if (is_signed) return "it verifies as provider \"" + std::string{key} + "\"";
    }
    return {};
}

std::string mismatch_cause(const HttpRequest& request, const Source& source, StoreTime now) {
    if (std::string cause = secret_cause(request, source, now); !cause.empty()) return cause;
    for (const auto& [body, how] : other_bodies(request.body)) {
        HttpRequest changed = request;
        changed.body = body;
        if (passes(changed, source, now)) return how;
    }
    if (std::string cause = url_cause(request, source, now); !cause.empty()) return cause;
    if (std::string cause = provider_cause(request, source, now); !cause.empty()) return cause;
    if (request.body.starts_with("\x1F\x8B")) {
        return "the body is compressed: the signature is of what was compressed, or of another "
               "body";
    }
    return "a wrong secret (of another endpoint, or of test mode), or the body was changed on its "
           "way";
}

std::string cause_of(const Rejected& refused, const HttpRequest& request, const Source& source,
                     StoreTime now) {
    switch (refused.reason) {
        case Reason::mismatch: return mismatch_cause(request, source, now);
        case Reason::stale:
            return "the request was kept too long or is a replay, or the clock of this host is "
                   "wrong; verify a captured request with the time it came";
        case Reason::missing:
            if (std::string cause = provider_cause(request, source, now); !cause.empty()) {
                return cause;
            }
            return "the header was not captured, a proxy removed it, or the sender has no secret "
                   "configured";
        case Reason::malformed: return "a proxy changed the header, or it is another sender's";
        case Reason::unreadable: return "the signature is right; the body is not what it should be";
        case Reason::forbidden: return "the token is not the one configured, or there is none";
        case Reason::misconfigured: return "correct the source: " + refused.message;
    }
    return {};
}

}  // namespace

Explanation explain(const HttpRequest& request, const Source& source, StoreTime now) {
    Explanation explanation;
    const auto provider = find(source.provider);
    if (provider == nullptr) {
        explanation.verdict =
            Rejected{Reason::misconfigured, "there is no provider \"" + source.provider + "\""};
        return explanation;
    }
    explanation.verdict = provider->receive({request, source, now, &explanation.evidence});
    // A signed string may hold a secret that somebody put where it does not belong.
    if (auto& text = explanation.evidence.signed_string) {
        for (const std::string& secret : source.secrets) {
            for (std::size_t at = 0;
                 secret.size() >= 8 && (at = text->find(secret, at)) != std::string::npos;) {
                text->replace(at, secret.size(), "***");
            }
        }
    }
    if (const auto* refused = std::get_if<Rejected>(&explanation.verdict)) {
        explanation.likely_cause = cause_of(*refused, request, source, now);
    }
    return explanation;
}

std::string to_text(const Explanation& explanation) {
    std::string text;
    if (const auto* refused = std::get_if<Rejected>(&explanation.verdict)) {
        text = "refused: " + std::string{to_string(refused->reason)} + ": " + refused->message;
    } else if (const auto* parsed = std::get_if<Parsed>(&explanation.verdict)) {
        text = "verified: type " + parsed->type +
               (parsed->id.empty()
                    ? ", no id"
                    : ", id " + parsed->id + (parsed->id_is_signed ? "" : " (not signed)"));
    } else {
        text = "a handshake, which is answered and not stored";
    }
    text += '\n';
    for (const Step& step : explanation.evidence.steps) {
        text += (step.good ? "  ok    " : "  wrong ") + step.what + ": " + step.found + '\n';
    }
    if (const auto& skew = explanation.evidence.skew) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*skew).count();
        text += "  skew  " + std::to_string(seconds) + " s\n";
    }
    if (!explanation.likely_cause.empty()) {
        text += "likely cause: " + explanation.likely_cause + '\n';
    }
    if (const auto& signed_string = explanation.evidence.signed_string) {
        text += "signed string, " + std::to_string(signed_string->size()) + " bytes:\n" +
                clean_text(*signed_string, kShownBytesMax) + '\n';
    }
    return clean_text(text, 4 * kShownBytesMax);
}

}  // namespace waybill::providers
