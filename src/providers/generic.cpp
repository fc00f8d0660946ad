#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/wording.hpp"
#include "providers/catalogue.hpp"
#include "providers/reading.hpp"
#include "providers/signed_string.hpp"

/// What a source's own options describe. They live as long as the source, and so do these views.
namespace waybill::providers {
namespace {

Algorithm algorithm_of(const std::string& name) {
    if (name == "sha1") return Algorithm::hmac_sha1;
    return name == "sha512" ? Algorithm::hmac_sha512 : Algorithm::hmac_sha256;
}

KeyForm key_form(const std::string& name) {
    if (name == "hex") return KeyForm::hex;
    return name == "base64" ? KeyForm::base64 : KeyForm::text;
}

TimeUnit unit_of(const std::string& name) {
    if (name == "ms") return TimeUnit::milliseconds;
    return name == "rfc3339" ? TimeUnit::rfc3339 : TimeUnit::seconds;
}

void check_choice(Problems& problems, const char* what, const std::string& value,
                  std::initializer_list<std::string_view> allowed) {
    if (std::ranges::find(allowed, value) != allowed.end()) return;
    std::string list;
    for (const std::string_view choice : allowed) {
        list += (list.empty() ? "\"" : ", \"") + std::string{choice} + "\"";
    }
    problems.push_back(std::string{what} + " is " + detail::in_quotes(value) + "; use one of " +
                       list);
}

}  // namespace

Scheme generic_scheme(const Source& source) {
    const SignatureOptions& options = source.signature;
    return {
        .algorithm = algorithm_of(options.algorithm),
        .encoding = options.encoding == "base64" ? Encoding::base64 : Encoding::hex,
        .key = key_form(options.secret_form),
        .syntax = options.prefix.empty() ? Syntax::bare : Syntax::prefixed,
        .signature = options.header.empty() ? "X-Signature-256" : std::string_view{options.header},
        .label = options.prefix,
        .timestamp = options.timestamp,
        .unit = unit_of(options.timestamp_unit),
        .signed_string = options.signed_string};
}

Scheme api_key_scheme(const Source& source) {
    const std::string& header = source.signature.header;
    return {.algorithm = Algorithm::token,
            .encoding = Encoding::text,
            .signature = header.empty() ? "X-Api-Key" : std::string_view{header}};
}

Problems check_signature_options(const SignatureOptions& options) {
    Problems problems;
    check_choice(problems, "signature_algorithm", options.algorithm, {"sha1", "sha256", "sha512"});
    check_choice(problems, "signature_encoding", options.encoding, {"hex", "base64"});
    check_choice(problems, "timestamp_unit", options.timestamp_unit, {"s", "ms", "rfc3339"});
    check_choice(problems, "secret_form", options.secret_form, {"text", "hex", "base64"});
    if (const std::string wrong = template_problem(options.signed_string); !wrong.empty()) {
        problems.push_back("signed_string " + wrong);
    }
    const bool signs_time = options.signed_string.find("{timestamp}") != std::string::npos;
    if (signs_time && options.timestamp.empty()) {
        problems.push_back(
            "signed_string has {timestamp}; say where it is: timestamp = \"header:NAME\"");
    }
    const bool is_in_body = options.timestamp.starts_with("json:");
    if (!options.timestamp.empty() && !signs_time && !is_in_body) {
        problems.push_back(
            "timestamp is not signed, so anyone can change it; put {timestamp} into "
            "signed_string");
    }
    if (!options.timestamp.empty() && !is_place(options.timestamp)) {
        problems.push_back("timestamp is " + detail::in_quotes(options.timestamp) +
                           "; use \"header:NAME\" or \"json:PATH\"");
    }
    return problems;
}

}  // namespace waybill::providers
