/// Whatever a header says: nothing is taken for signed that does not carry the right signature, and
/// no explanation of a refusal breaks.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "core/text.hpp"
#include "providers/catalogue_provider.hpp"
#include "providers/known_answers.hpp"
#include "waybill/providers.hpp"
#include "waybill/webhook.hpp"

namespace {

using namespace waybill;
using namespace waybill::providers;

std::vector<const KnownAnswer*> known_answers() {
    std::vector<const KnownAnswer*> all;
    for (const auto answers : {official_answers(), computed_answers(), other_answers()}) {
        for (const KnownAnswer& answer : answers) {
            if (!answer.headers.empty()) all.push_back(&answer);
        }
    }
    return all;
}

/// The runs of characters that are long enough to be a signature, in lower case.
std::vector<std::string> signatures_in(std::string_view value) {
    std::vector<std::string> found;
    std::string run;
    for (const char c : lower_ascii(value) + "\n") {
        const bool is_digit =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '+' || c == '/';
        if (is_digit) {
            run += c;
            continue;
        }
        if (run.size() >= 20) found.push_back(run);
        run.clear();
    }
    return found;
}

/// What a receiver of ours may answer with, and what somebody else may send to one.
void check_ours(const std::string& value, StoreTime now) {
    const webhook::RetryAfterBounds bounds{.least = std::chrono::seconds{1},
                                           .most = std::chrono::hours{1}};
    const auto wait = webhook::retry_after({{"Retry-After", value}}, now, bounds);
    if (wait && (*wait < bounds.least || *wait > bounds.most)) std::abort();
    const std::vector<std::string> secrets{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                           "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="};
    const HttpHeaders headers{
        {"webhook-id", "1"}, {"webhook-timestamp", "1"}, {"webhook-signature", value}};
    const auto checked = webhook::verify(headers, "never signed", {.secrets = secrets, .now = now});
    if (std::holds_alternative<webhook::Verified>(checked)) std::abort();
}

}  // namespace

/// The first byte says which known request, the rest is what its signature's header says instead.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<const KnownAnswer*> all = known_answers();
    if (size == 0) return 0;
    const KnownAnswer& answer = *all[data[0] % all.size()];
    const std::string value{reinterpret_cast<const char*>(data) + 1, size - 1};
    HttpRequest request = request_of(answer);
    const Source source = source_of(answer);
    const CatalogueProvider& provider = *find_in_catalogue(answer.provider);
    Reading reading{request};
    const Scheme scheme = provider.scheme_for(source, reading);
    std::string_view places = scheme.signature;
    const std::string name{header_name(cut(places, '|'))};
    const std::string* before = request.headers.find(name);
    if (before == nullptr || scheme.algorithm == Algorithm::token) return 0;

    const std::vector<std::string> right = signatures_in(*before);
    request.headers.set(name, value);
    const Explanation explanation = explain(request, source, time_of(answer));
    const bool is_taken = std::holds_alternative<Parsed>(explanation.verdict);
    const bool has_others = !places.empty();  // a second header may be right still
    const std::string small = lower_ascii(value);
    const bool has_right = std::ranges::any_of(right, [&](const std::string& signature) {
        return small.find(signature) != std::string::npos;
    });
    if (is_taken && !has_others && !has_right) std::abort();
    if (to_text(explanation).size() > 20'000) std::abort();
    check_ours(value, time_of(answer));
    return 0;
}
