#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text.hpp"
#include "providers/catalogue_provider.hpp"
#include "providers/known_answers.hpp"
#include "providers/signature.hpp"
#include "waybill/providers.hpp"

/// Every request we know to be right, bent in every way we could think of, and what it is refused
/// with then.
namespace waybill::providers {
namespace {

using std::chrono::seconds;

/// A request that was right once.
struct Sample {
    const KnownAnswer* answer = nullptr;
    HttpRequest request{};
    Source source{};
    StoreTime now{};
    Scheme scheme{};
    /// Where its signatures are.
    std::vector<std::string> headers{};
};

std::vector<Sample> samples() {
    std::vector<Sample> all;
    for (const auto answers : {official_answers(), computed_answers(), other_answers()}) {
        for (const KnownAnswer& answer : answers) {
            Sample sample{&answer, request_of(answer), source_of(answer), time_of(answer)};
            Reading reading{sample.request};
            sample.scheme = find_in_catalogue(answer.provider)->scheme_for(sample.source, reading);
            std::string_view places = sample.scheme.signature;
            while (!places.empty()) {
                const std::string name{header_name(cut(places, '|'))};
                if (sample.request.headers.find(name)) sample.headers.push_back(name);
            }
            all.push_back(std::move(sample));
        }
    }
    // A generic scheme is made of its source: the views in it are of the sample's own.
    for (Sample& sample : all) {
        Reading reading{sample.request};
        sample.scheme =
            find_in_catalogue(sample.answer->provider)->scheme_for(sample.source, reading);
    }
    return all;
}

std::string code_of(const Sample& sample) {
    const Verdict verdict =
        find(sample.answer->provider)->receive({sample.request, sample.source, sample.now});
    if (const auto* refused = std::get_if<Rejected>(&verdict)) {
        return std::string{to_string(refused->reason)};
    }
    return std::holds_alternative<Parsed>(verdict) ? "" : "handshake";
}

/// Each signature of the sample as `bend` makes it, in the header it stands in.
void bend_signatures(Sample& sample, const std::function<std::string(std::string)>& bend) {
    const Scheme& scheme = sample.scheme;
    for (const std::string& name : sample.headers) {
        const std::string value = *sample.request.headers.find(name);
        std::string bent;
        if (scheme.syntax == Syntax::bare) bent = bend(value);
        if (scheme.syntax == Syntax::prefixed) {
            bent = value.substr(0, scheme.label.size()) + bend(value.substr(scheme.label.size()));
        }
        if (scheme.syntax == Syntax::pairs || scheme.syntax == Syntax::versions) {
            const bool is_versions = scheme.syntax == Syntax::versions;
            std::string_view rest = value;
            while (!rest.empty()) {
                std::string_view item = cut(rest, is_versions ? ' ' : scheme.separator);
                const std::string name_in_list{cut(item, is_versions ? ',' : '=')};
                const bool is_ours = is_versions ? name_in_list.starts_with("v1")
                                                 : name_in_list.ends_with(scheme.label);
                bent += (bent.empty() ? "" : std::string{is_versions ? ' ' : scheme.separator}) +
                        name_in_list + (is_versions ? "," : "=") +
                        (is_ours ? bend(std::string{item}) : std::string{item});
            }
        }
        sample.request.headers.set(name, bent);
    }
}

bool is_hex(const Sample& sample) {
    return sample.scheme.encoding == Encoding::hex;
}
bool is_text(const Sample& sample) {
    return sample.scheme.encoding == Encoding::text;
}
bool has_time(const Sample& sample) {
    return !sample.scheme.timestamp.empty() && sample.scheme.tolerance != forever;
}
std::string good(const Sample& sample) {
    return std::string{sample.answer->refused};
}

/// A secret of the right form that is not the right one. Empty: the scheme has keys in pairs.
std::string wrong_secret(const Sample& sample) {
    if (sample.scheme.algorithm == Algorithm::ed25519) {
        return "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    }
    switch (sample.scheme.key) {
        case KeyForm::text: return "wrong-secret";
        case KeyForm::hex: return "00112233";
        case KeyForm::base64: return {};
        case KeyForm::standard: return "whsec_d3JvbmctMjQtYnl0ZXMtb2Yta2V5ISE=";
        case KeyForm::pem: return {};
    }
    return {};
}

std::string upper_ascii(std::string_view text) {
    std::string upper{text};
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return upper;
}

/// Wrong signatures before the right one, `count` altogether. False: there can only be one.
bool crowd(Sample& sample, std::size_t count) {
    const Scheme& scheme = sample.scheme;
    const bool is_versions = scheme.syntax == Syntax::versions;
    if (sample.headers.empty() || (scheme.syntax != Syntax::pairs && !is_versions)) return false;
    const std::string value = *sample.request.headers.find(sample.headers.front());
    std::size_t ours = 0;
    for (std::string_view rest = value; !rest.empty();) {
        std::string_view item = cut(rest, is_versions ? ' ' : scheme.separator);
        std::string_view name = cut(item, is_versions ? ',' : '=');
        if (name.starts_with(' ')) name.remove_prefix(1);
        ours += name == (is_versions ? "v1" : scheme.label) || (is_versions && name == "v1a");
    }
    std::string more;
    for (; ours < count; ++ours) {
        more += is_versions ? "v1,AAAA " : std::string{scheme.label} + "=aaaa" + scheme.separator;
    }
    sample.request.headers.set(sample.headers.front(), more + value);
    return true;
}

/// What is done to a sample, and what it is refused with then; "skip" where it cannot be done.
struct Bend {
    const char* name = "";
    std::function<std::string(Sample&)> apply{};
};

const std::vector<Bend>& bends() {
    static const std::vector<Bend> all{
        {"nothing", [](Sample& s) { return good(s); }},
        {"names of headers in upper case, and others between",
         [](Sample& s) {
             HttpHeaders changed{{"Host", "example.com"}};
             for (const HttpHeader& header : s.request.headers) {
                 std::string name = header.name;
                 for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
                 changed.add(name, header.value);
                 changed.add("X-Other", "1");
             }
             s.request.headers = changed;
             return good(s);
         }},
        {"a second secret is the right one",
         [](Sample& s) -> std::string {
             if (wrong_secret(s).empty()) return "skip";
             s.source.secrets.insert(s.source.secrets.begin(), wrong_secret(s));
             return good(s);
         }},
        {"a garbled secret before the right one",
         [](Sample& s) {
             s.source.secrets.insert(s.source.secrets.begin(), "");
             return good(s);
         }},
        {"a wrong secret",
         [](Sample& s) -> std::string {
             if (wrong_secret(s).empty()) return "skip";
             s.source.secrets = {wrong_secret(s)};
             return "bad-signature";
         }},
        {"an empty secret",
         [](Sample& s) -> std::string {
             s.source.secrets = {""};
             return "misconfigured";
         }},
        {"no secret",
         [](Sample& s) -> std::string {
             s.source.secrets.clear();
             return s.answer->provider == "none" ? "forbidden" : "misconfigured";
         }},
        {"the signature is missing",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             HttpHeaders kept;
             for (const HttpHeader& header : s.request.headers) {
                 bool is_signature = false;
                 for (const std::string& name : s.headers) {
                     is_signature = is_signature || same_name(name, header.name);
                 }
                 if (!is_signature) kept.add(header.name, header.value);
             }
             s.request.headers = kept;
             return s.answer->provider == "notion" ? "handshake" : "missing";
         }},
        {"the signature's header is empty",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             for (const std::string& name : s.headers) s.request.headers.set(name, "");
             return s.answer->provider == "notion" ? "handshake" : "missing";
         }},
        {"the first character of each signature is another",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             bend_signatures(s, [](std::string text) {
                 if (!text.empty()) text[0] = text[0] == 'a' ? 'b' : 'a';
                 return text;
             });
             return "bad-signature";
         }},
        {"each signature is cut short",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             bend_signatures(s, [&](std::string text) {
                 text.resize(text.size() - (is_hex(s) ? 2 : 4));
                 return text;
             });
             return "bad-signature";
         }},
        {"each signature is only its beginning",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             bend_signatures(s, [](const std::string& text) { return text.substr(0, 4); });
             return "bad-signature";
         }},
        {"each signature is longer",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             bend_signatures(s, [](const std::string& text) { return "AAAA" + text; });
             return "bad-signature";
         }},
        {"each signature is there twice, one after the other",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             bool is_padded = false;
             bend_signatures(s, [&](const std::string& text) {
                 is_padded = is_padded || text.ends_with('=');
                 return text + text;
             });
             return is_padded ? "malformed" : "bad-signature";  // padding ends base64
         }},
        {"each signature has a character that is none of its digits",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             bend_signatures(s, [](std::string text) {
                 if (!text.empty()) text[0] = '!';
                 return text;
             });
             return is_text(s) ? "bad-signature" : "malformed";
         }},
        {"each signature is followed by a space",
         [](Sample& s) -> std::string {
             if (s.headers.empty() || s.scheme.syntax == Syntax::versions) return "skip";
             bend_signatures(s, [](const std::string& text) { return text + " "; });
             return is_text(s) ? "bad-signature" : "malformed";
         }},
        {"hex in upper case",
         [](Sample& s) -> std::string {
             if (s.headers.empty() || !is_hex(s)) return "skip";
             bend_signatures(s, [](std::string text) {
                 for (char& c : text) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c;
                 return text;
             });
             return good(s);
         }},
        {"the label before the signature is another",
         [](Sample& s) -> std::string {
             if (s.headers.empty() || s.scheme.syntax == Syntax::bare) return "skip";
             const std::string label{s.scheme.syntax == Syntax::versions ? "v1" : s.scheme.label};
             for (const std::string& name : s.headers) {
                 std::string value = *s.request.headers.find(name);
                 for (std::size_t at = 0; (at = value.find(label, at)) != std::string::npos;) {
                     value[at] = '?';
                 }
                 s.request.headers.set(name, value);
             }
             return "malformed";
         }},
        {"the label before the signature in another case",
         [](Sample& s) -> std::string {
             const bool has_case = lower_ascii(s.scheme.label) != upper_ascii(s.scheme.label);
             const bool is_token = s.scheme.algorithm == Algorithm::token;
             if (s.headers.empty() || s.scheme.syntax != Syntax::prefixed || !has_case) {
                 return "skip";
             }
             for (const std::string& name : s.headers) {
                 const std::string value = *s.request.headers.find(name);
                 const std::string label = value.substr(0, s.scheme.label.size());
                 const std::string other =
                     upper_ascii(label) == label ? lower_ascii(label) : upper_ascii(label);
                 s.request.headers.set(name, other + value.substr(label.size()));
             }
             return is_token ? good(s) : "malformed";
         }},
        {"a name without a value in the list",
         [](Sample& s) -> std::string {
             if (s.headers.empty() || s.scheme.syntax != Syntax::pairs) return "skip";
             const std::string& name = s.headers.front();
             const std::string value = *s.request.headers.find(name);
             s.request.headers.set(name, value + s.scheme.separator + "x=");
             return "malformed";
         }},
        {"as many signatures as are tried, the last is right",
         [](Sample& s) -> std::string { return crowd(s, candidates_max) ? good(s) : "skip"; }},
        {"one signature more than are tried",
         [](Sample& s) -> std::string {
             return crowd(s, candidates_max + 1) ? "malformed" : "skip";
         }},
        {"the signature's header is there twice and the same",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             const std::string name = s.headers.front();
             s.request.headers.add(name, std::string{*s.request.headers.find(name)});
             return good(s);
         }},
        {"the signature's header is there twice and differs",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             s.request.headers.add(s.headers.front(), "another");
             return "malformed";
         }},
        {"the signature's header is ten thousand bytes long",
         [](Sample& s) -> std::string {
             if (s.headers.empty()) return "skip";
             s.request.headers.set(s.headers.front(), std::string(10'000, 'a'));
             return "malformed";
         }},
        {"it is as old as it may be",
         [](Sample& s) -> std::string {
             if (!has_time(s)) return "skip";
             s.now += s.scheme.tolerance;
             return good(s);
         }},
        {"it is a second too old",
         [](Sample& s) -> std::string {
             s.now += has_time(s) ? s.scheme.tolerance + seconds{2} : Duration{seconds{9'999'999}};
             return has_time(s) ? "stale" : good(s);
         }},
        {"it is a little too early",
         [](Sample& s) -> std::string {
             s.now -= has_time(s) ? s.scheme.tolerance + seconds{1} : Duration{seconds{9'999'999}};
             return has_time(s) ? "stale" : good(s);
         }},
        {"it is ten years old and that does not matter",
         [](Sample& s) -> std::string {
             s.now += std::chrono::hours{24 * 3'650};
             s.source.tolerance = forever;
             return good(s);
         }},
        {"it is old and badly signed",
         [](Sample& s) -> std::string {
             if (wrong_secret(s).empty()) return "skip";
             s.now += std::chrono::hours{24};
             s.source.secrets = {wrong_secret(s)};
             return "bad-signature";
         }},
        {"it was sent with PUT",
         [](Sample& s) -> std::string {
             s.request.method = "PUT";
             return "malformed";
         }},
    };
    return all;
}

/// What is done to the body of those that sign it.
const std::vector<Bend>& body_bends() {
    static const std::vector<Bend> all{
        {"one bit of the body",
         [](Sample& s) -> std::string {
             s.request.body[s.request.body.size() / 2] ^= 1;
             return {};
         }},
        {"a line end more",
         [](Sample& s) -> std::string {
             s.request.body += "\n";
             return {};
         }},
        {"a byte order mark",
         [](Sample& s) -> std::string {
             s.request.body.insert(0, "\xEF\xBB\xBF");
             return {};
         }},
        {"a NUL at the end",
         [](Sample& s) -> std::string {
             s.request.body += '\0';
             return {};
         }},
        {"the body twice",
         [](Sample& s) -> std::string {
             s.request.body += s.request.body;
             return {};
         }},
        {"no body",
         [](Sample& s) -> std::string {
             s.request.body.clear();
             return {};
         }},
        {"bytes that are not UTF-8",
         [](Sample& s) -> std::string {
             s.request.body.back() = '\xFF';
             return {};
         }},
    };
    return all;
}

TEST(ProviderSignatures, BentRequestsAreRefusedWithTheRightCode) {
    int cases = 0;
    for (const Sample& sample : samples()) {
        for (const Bend& bend : bends()) {
            Sample bent = sample;
            const std::string expected = bend.apply(bent);
            if (expected == "skip") continue;
            ++cases;
            const std::string code = code_of(bent);
            EXPECT_EQ(code, expected) << sample.answer->provider << ": " << bend.name;
        }
    }
    RecordProperty("cases", cases);
    EXPECT_GE(cases, 1'200);
}

TEST(ProviderSignatures, AnotherBodyIsRefusedWhereverTheBodyIsSigned) {
    int cases = 0;
    for (const Sample& sample : samples()) {
        if (!sample.answer->covers_body) continue;
        for (const Bend& bend : body_bends()) {
            Sample bent = sample;
            bend.apply(bent);
            ++cases;
            const std::string code = code_of(bent);
            // Twilio hashes a body that is no form, and what is hashed wrongly is not even signed.
            const bool is_twilio = sample.answer->provider == "twilio";
            EXPECT_TRUE(code == "bad-signature" || (is_twilio && code == "malformed"))
                << sample.answer->provider << ": " << bend.name << ": " << code;
        }
    }
    EXPECT_GE(cases, 400);
}

TEST(ProviderSignatures, ATimestampIsDigitsAndNothingElse) {
    int cases = 0;
    for (const Sample& sample : samples()) {
        const std::string name{header_name(sample.scheme.timestamp)};
        if (name.empty()) continue;
        for (const char* text :
             {"+1700000000", "-1", " 1700000000", "1700000000 ", "1.7e9", "1700000000.0", "0x65",
              "99999999999999999999", "17000000000000000", "NaN", "now", "2023-11-14",
              "2023-02-30T00:00:00Z", "2023-11-14T22:13:20", "2023-11-14T24:00:00Z",
              "2023-11-14T22:13:20+01", "1700000000,1700000000"}) {
            Sample bent = sample;
            bent.request.headers.set(name, text);
            ++cases;
            EXPECT_EQ(code_of(bent), "malformed") << sample.answer->provider << ": " << text;
        }
        Sample without = sample;
        without.request.headers.set(name, "");
        EXPECT_EQ(code_of(without), "missing") << sample.answer->provider;
    }
    EXPECT_GE(cases, 150);
}

TEST(ProviderSignatures, TheSecretThatMatchedIsNamed) {
    for (Sample sample : samples()) {
        if (!sample.answer->refused.empty() || wrong_secret(sample).empty()) continue;
        sample.source.secrets.insert(sample.source.secrets.begin(), wrong_secret(sample));
        const Verdict verdict =
            find(sample.answer->provider)->receive({sample.request, sample.source, sample.now});
        ASSERT_TRUE(std::holds_alternative<Parsed>(verdict)) << sample.answer->provider;
        EXPECT_EQ(std::get<Parsed>(verdict).secret, 1U) << sample.answer->provider;
    }
}

}  // namespace
}  // namespace waybill::providers
