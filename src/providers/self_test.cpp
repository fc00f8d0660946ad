#include <chrono>
#include <set>
#include <string>

#include "providers/known_answers.hpp"
#include "providers/reading.hpp"
#include "waybill/providers.hpp"

namespace waybill::providers {
namespace {

/// What a verdict says, in the words of an answer: the code of a refusal, or "" for an event.
std::string code_of(const Verdict& verdict) {
    if (const auto* refused = std::get_if<Rejected>(&verdict)) {
        return std::string{to_string(refused->reason)};
    }
    return std::holds_alternative<HttpResponse>(verdict) ? "handshake" : "";
}

bool is_as_known(const Verdict& verdict, const KnownAnswer& answer) {
    if (code_of(verdict) != answer.refused) return false;
    const auto* parsed = std::get_if<Parsed>(&verdict);
    return parsed == nullptr || (parsed->type == answer.type && parsed->id == answer.id);
}

/// Nothing that was not signed may pass.
bool is_refused(const Verdict& verdict) {
    const auto* refused = std::get_if<Rejected>(&verdict);
    return refused != nullptr && (refused->reason == Rejected::Reason::mismatch ||
                                  refused->reason == Rejected::Reason::malformed);
}

void test(const KnownAnswer& answer, Problems& problems) {
    const auto provider = find(answer.provider);
    const std::string name{answer.provider};
    if (provider == nullptr) {
        problems.push_back(name + ": there is no such provider");
        return;
    }
    HttpRequest request = request_of(answer);
    Source source = source_of(answer);
    const StoreTime now = time_of(answer);
    for (const std::string& problem : provider->check(source)) {
        problems.push_back(name + ": " + problem);
    }
    if (!is_as_known(provider->receive({request, source, now}), answer)) {
        problems.push_back(name + ": a request that is right is not taken for what it is");
    }
    if (answer.covers_body) {
        request.body.back() = static_cast<char>(request.body.back() ^ 1);
        if (!is_refused(provider->receive({request, source, now}))) {
            problems.push_back(name + ": a body that was changed is not refused");
        }
    }
}

}  // namespace

HttpRequest request_of(const KnownAnswer& answer) {
    HttpRequest request{
        .method = "POST", .target = std::string{answer.target}, .body = std::string{answer.body}};
    std::string_view headers = answer.headers;
    while (!headers.empty()) {
        std::string_view line = cut(headers, '\n');
        const std::string_view name = cut(line, ':');
        request.headers.add(std::string{name}, std::string{line.substr(1)});
    }
    return request;
}

Source source_of(const KnownAnswer& answer) {
    return {.name = std::string{answer.provider},
            .provider = std::string{answer.provider},
            .secrets = {std::string{answer.secret}},
            .public_url = std::string{answer.public_url},
            .webhook_id = std::string{answer.webhook_id}};
}

StoreTime time_of(const KnownAnswer& answer) {
    return StoreTime{std::chrono::seconds{answer.at}};
}

Problems self_test() {
    Problems problems;
    std::set<std::string_view> tested;
    for (const auto answers : {official_answers(), computed_answers(), other_answers()}) {
        for (const KnownAnswer& answer : answers) {
            tested.insert(answer.provider);
            test(answer, problems);
        }
    }
    for (const std::string_view key : keys()) {
        if (!tested.contains(key)) problems.push_back(std::string{key} + ": has no known answer");
    }
    return problems;
}

}  // namespace waybill::providers
