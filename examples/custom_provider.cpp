// A sender of webhooks that Waybill does not know: a class, or two functions. Tried here without a
// server: waybill::Intake turns requests into responses.

#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "check.hpp"
#include <waybill/intake.hpp>
#include <waybill/memory.hpp>
#include <waybill/providers.hpp>
#include <waybill/signing.hpp>

namespace {

namespace signing = waybill::signing;

std::string signature_of(const std::string& secret, const waybill::HttpRequest& request) {
    const std::array pieces{std::string_view{request.method}, std::string_view{"\n"},
                            std::string_view{request.body}};
    return signing::hmac(signing::Hash::sha512, secret, pieces);
}

// [class]
/// Signs the method and the body; the id is in the URL and the type in a header.
class Parcels final : public waybill::Provider {
public:
    std::string_view key() const override { return "parcels"; }

    waybill::Problems check(const waybill::Source& source) const override {
        if (source.secrets.empty()) return {"secrets is empty; parcels are signed"};
        return {};
    }

    waybill::Verdict receive(const waybill::Arrival& arrival) const override {
        using Reason = waybill::Rejected::Reason;
        const waybill::HttpHeaders& headers = arrival.request.headers;
        const std::string* shown = headers.find("Parcel-Signature");
        const std::string* type = headers.find("Parcel-Event");
        if (shown == nullptr || type == nullptr) {
            return waybill::Rejected{Reason::missing, "there is no Parcel-Signature or -Event"};
        }
        const auto signature = signing::from_base64(*shown);
        for (std::size_t i = 0; signature && i < arrival.source.secrets.size(); ++i) {
            const std::string expected = signature_of(arrival.source.secrets[i], arrival.request);
            if (!signing::same_bytes(*signature, expected)) continue;
            const auto id = waybill::form_field(arrival.request.query(), "parcel");
            return waybill::Parsed{.type = *type, .id = id.value_or(""), .secret = i};
        }
        return waybill::Rejected{Reason::mismatch, "the signature is not right"};
    }
};
// [/class]

// [compose]
/// Two functions: who sent it, and what it says.
std::shared_ptr<const waybill::Provider> ferries() {
    return waybill::providers::compose(
        "ferries",
        [](const waybill::Arrival& arrival) -> std::optional<waybill::Rejected> {
            const std::string* token = arrival.request.headers.find("Ferry-Token");
            if (token != nullptr && signing::same_bytes(*token, arrival.source.secrets.at(0))) {
                return std::nullopt;
            }
            return waybill::Rejected{waybill::Rejected::Reason::mismatch, "that is not the token"};
        },
        [](const waybill::Arrival& arrival) -> waybill::Verdict {
            return waybill::Parsed{.type = "ferry.left", .lane = arrival.request.body};
        });
}
// [/compose]

}  // namespace

int main() {
    waybill::Waybill app{{.store = waybill::memory::open()}};
    app.inbox("inbox").on("*", "print", [](const waybill::Message& message) {
        std::printf("%s from %s: %s\n", message.type.c_str(), message.source.c_str(),
                    message.body.c_str());
    });

    waybill::Intake intake{app,
                           {{.name = "parcels", .provider = "parcels", .secrets = {"old", "new"}},
                            {.name = "ferries", .provider = "ferries", .secrets = {"token"}}},
                           {.providers = {std::make_shared<Parcels>(), ferries()}}};

    waybill::HttpRequest parcel{.method = "POST",
                                .target = "/webhooks/parcels?parcel=7",
                                .headers = {{"Parcel-Event", "parcel.delivered"}},
                                .body = "to the neighbour"};
    parcel.headers.add("Parcel-Signature", signing::to_base64(signature_of("new", parcel)));
    CHECK(intake.handle(parcel).status == 202);
    CHECK(intake.handle(parcel).status == 200);  // a duplicate
    parcel.body = "to nobody";
    CHECK(intake.handle(parcel).status == 400);  // not what was signed

    waybill::HttpRequest ferry{.method = "POST",
                               .target = "/webhooks/ferries",
                               .headers = {{"Ferry-Token", "token"}},
                               .body = "the 8 o'clock"};
    CHECK(intake.handle(ferry).status == 202);

    CHECK(app.run_until_idle());
}
