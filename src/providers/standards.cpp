#include "providers/catalogue.hpp"

namespace waybill::providers {
namespace {

constexpr Scheme kStandardWebhooks{.encoding = Encoding::base64,
                                   .key = KeyForm::standard,
                                   .syntax = Syntax::versions,
                                   .signature = "header:webhook-signature",
                                   .timestamp = "header:webhook-timestamp",
                                   .id = "header:webhook-id",
                                   .signed_string = "{id}.{timestamp}.{body}"};
constexpr Scheme kSvix{.encoding = Encoding::base64,
                       .key = KeyForm::standard,
                       .syntax = Syntax::versions,
                       .signature = "header:svix-signature",
                       .timestamp = "header:svix-timestamp",
                       .id = "header:svix-id",
                       .signed_string = "{id}.{timestamp}.{body}"};
constexpr Scheme kBearer{.algorithm = Algorithm::token,
                         .encoding = Encoding::text,
                         .syntax = Syntax::prefixed,
                         .signature = "header:Authorization",
                         .label = "Bearer "};
constexpr Mapping kPlain{.type = "json:type|=webhook", .id = "json:id"};

constexpr Entry kStandardProviders[]{
    {.key = "api-key", .mapping = kPlain, .configured = api_key_scheme},
    {.key = "basic",
     .schemes = {{{.algorithm = Algorithm::token,
                   .encoding = Encoding::base64,
                   .syntax = Syntax::prefixed,
                   .signature = "header:Authorization",
                   .label = "Basic "}}},
     .mapping = kPlain},
    {.key = "bearer", .schemes = {{kBearer}}, .mapping = kPlain},
    // As the HTTP binding has it: a bearer's token in the header or in the query.
    {.key = "cloudevents",
     .schemes = {{kBearer,
                  {.algorithm = Algorithm::token,
                   .encoding = Encoding::text,
                   .signature = "query:access_token"}}},
     .handshake = Handshake::cloudevents},
    {.key = "convoy",
     .schemes = {{{.syntax = Syntax::pairs,
                   .signature = "header:X-Convoy-Signature",
                   .label = "v1",
                   .timestamp = "pair:t",
                   .signed_string = "{timestamp},{body}"},
                  {.signature = "header:X-Convoy-Signature"}}},
     .mapping = {.type = "json:event|json:event_type|=webhook",
                 .id = "header:X-Convoy-Idempotency-Key"}},
    {.key = "generic", .mapping = {.type = "json:type"}, .configured = generic_scheme},
    // Coinbase's developer platform too. With v1 the headers it names are signed.
    {.key = "hook0",
     .schemes = {{{.syntax = Syntax::pairs,
                   .signature = "header:X-Hook0-Signature",
                   .label = "v1",
                   .timestamp = "pair:t",
                   .signed_strings = hook0_strings},
                  {.syntax = Syntax::pairs,
                   .signature = "header:X-Hook0-Signature",
                   .label = "v0",
                   .timestamp = "pair:t",
                   .signed_string = "{timestamp}.{body}"}}},
     .mapping = {.type = "header:X-Event-Type|json:event|json:type|=webhook",
                 .id = "header:X-Event-Id"}},
    {.key = "none",
     .schemes = {{kBearer,
                  {.algorithm = Algorithm::token,
                   .encoding = Encoding::text,
                   .signature = "query:token"}}},
     .mapping = kPlain,
     .open_on_loopback = true},
    // Waybill's own second set of headers, which is that of OutboxNet.
    {.key = "outbox",
     .schemes = {{{.syntax = Syntax::prefixed,
                   .signature = "header:X-Outbox-Signature",
                   .label = "sha256="}}},
     .mapping = {.type = "header:X-Outbox-Event",
                 .id = "header:X-Outbox-Message-Id",
                 .correlation = "header:X-Outbox-Correlation-Id"}},
    {.key = "standard-webhooks",
     .schemes = {{kStandardWebhooks}},
     .mapping = {.type = "json:type|=webhook", .id = "header:webhook-id"}},
    {.key = "svix",
     .schemes = {{kSvix, kStandardWebhooks}},
     .mapping = {.type = "json:type|=webhook", .id = "header:svix-id|header:webhook-id"}},
};

}  // namespace

std::span<const Entry> standard_providers() {
    return kStandardProviders;
}

}  // namespace waybill::providers
