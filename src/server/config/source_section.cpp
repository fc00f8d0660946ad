#include <array>

#include "intake/sources.hpp"
#include "server/config/parts.hpp"

namespace waybill::server {
namespace {

/// False: not all of its secrets are known.
bool read_source(Section section, Source& source) {
    section.text("provider", source.provider);
    const bool knows_secrets = section.secrets("secrets", source.secrets);
    section.duration("tolerance", source.tolerance);
    section.text("box", source.box);
    section.text("path", source.path);
    section.url("public_url", source.public_url);
    section.text("webhook_id", source.webhook_id);
    section.secret("verify_token", source.verify_token);
    section.text("event_type", source.event_type);
    section.text("event_id", source.event_id);
    section.text("lane", source.lane);
    section.text("tenant", source.tenant);
    section.texts("keep_headers", source.keep_headers);
    section.boolean("cloudevents", source.cloudevents);
    section.choice("gzip", source.gzip,
                   {{"refused", Gzip::refused},
                    {"signed-as-sent", Gzip::signed_as_sent},
                    {"signed-inside", Gzip::signed_inside}});
    SignatureOptions& signature = source.signature;
    section.text("signature_header", signature.header);
    section.text("signature_prefix", signature.prefix);
    section.text("signature_algorithm", signature.algorithm);
    section.text("signature_encoding", signature.encoding);
    section.text("signed_string", signature.signed_string);
    section.text("timestamp", signature.timestamp);
    section.text("timestamp_unit", signature.timestamp_unit);
    section.text("secret_form", signature.secret_form);
    section.finish();
    return knows_secrets;
}

/// The server answers there itself, so no webhook would arrive.
bool is_servers_own(std::string_view path) {
    constexpr std::array<std::string_view, 3> kOurs{"/healthz", "/readyz", "/metrics"};
    for (const std::string_view one : kOurs) {
        if (path == one) return true;
    }
    return path.starts_with("/v1/");
}

}  // namespace

void read_sources(Section& top, Config& config) {
    std::vector<Section> sections;
    std::vector<bool> knows_secrets;
    for (auto& [name, section] : top.named("sources")) {
        Source& source = config.sources.emplace_back(Source{.name = name});
        knows_secrets.push_back(read_source(section, source));
        check_box(section, source.box, config);
        if (is_servers_own(source.path)) {
            section.problem("path", in_quotes(source.path) +
                                        " is the server's own; choose another, or leave it out");
        }
        sections.push_back(section);
    }
    for (const intake::SourceProblem& problem : intake::check(config.sources, {})) {
        if (problem.key == "box") continue;  // said above, and better
        if (problem.text.starts_with("secret") && !knows_secrets[problem.source]) continue;
        sections[problem.source].problem(std::string{problem.key}, problem.text);
    }
}

}  // namespace waybill::server
