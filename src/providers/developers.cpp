#include "providers/catalogue.hpp"

namespace waybill::providers {
namespace {

constexpr Entry kDeveloperProviders[]{
    {.key = "bitbucket",
     .schemes = {{{.syntax = Syntax::prefixed,
                   .signature = "header:X-Hub-Signature",
                   .label = "sha256="}}},
     .mapping = {.type = "header:X-Event-Key",
                 .id = "header:X-Request-UUID",
                 .lane = "json:repository.full_name"}},
    {.key = "circleci",
     .schemes =
         {{{.syntax = Syntax::pairs, .signature = "header:Circleci-Signature", .label = "v1"}}},
     .mapping = {.type = "json:type", .id = "json:id", .lane = "json:pipeline.id"}},
    {.key = "contentful",
     .schemes = {{{.signature = "header:X-Contentful-Signature",
                   .timestamp = "header:X-Contentful-Timestamp",
                   .unit = TimeUnit::milliseconds,
                   .signed_strings = contentful_strings}}},
     .mapping = {.type = "header:X-Contentful-Topic", .lane = "json:sys.id"}},
    {.key = "gitea",
     .schemes = {{{.signature = "header:X-Gitea-Signature"},
                  {.signature = "header:X-Forgejo-Signature"}}},
     .mapping = {.type = "header:X-Gitea-Event|header:X-Forgejo-Event",
                 .id = "header:X-Gitea-Delivery|header:X-Forgejo-Delivery",
                 .lane = "json:repository.full_name"}},
    {.key = "github",
     .schemes = {{{.syntax = Syntax::prefixed,
                   .signature = "header:X-Hub-Signature-256",
                   .label = "sha256="}}},
     .mapping = {.type = "header:X-GitHub-Event",
                 .id = "header:X-GitHub-Delivery",
                 .lane = "json:repository.full_name",
                 .tenant = "json:installation.id"}},
    // A signing token, as in Standard Webhooks, or the older plain one.
    {.key = "gitlab",
     .schemes = {{{.encoding = Encoding::base64,
                   .key = KeyForm::standard,
                   .syntax = Syntax::versions,
                   .signature = "header:webhook-signature",
                   .timestamp = "header:webhook-timestamp",
                   .id = "header:webhook-id",
                   .signed_string = "{id}.{timestamp}.{body}"},
                  {.algorithm = Algorithm::token,
                   .encoding = Encoding::text,
                   .signature = "header:X-Gitlab-Token"}}},
     .mapping = {.type = "header:X-Gitlab-Event",
                 .id = "header:webhook-id|header:Idempotency-Key",
                 .lane = "json:project.path_with_namespace"}},
    {.key = "linear",
     .schemes = {{{.signature = "header:Linear-Signature",
                   .timestamp = "json:webhookTimestamp",
                   .unit = TimeUnit::milliseconds,
                   .tolerance = std::chrono::seconds{60}}}},
     .mapping = {.type = "json:type+json:action|json:type",
                 .id = "header:Linear-Delivery",
                 .lane = "json:data.id",
                 .tenant = "json:organizationId"}},
    {.key = "pagerduty",
     .schemes =
         {{{.syntax = Syntax::pairs, .signature = "header:X-PagerDuty-Signature", .label = "v1"}}},
     .mapping = {.type = "json:event.event_type",
                 .id = "json:event.id",
                 .lane = "json:event.data.id"}},
    {.key = "sentry",
     .schemes = {{{.signature = "header:Sentry-Hook-Signature"}}},
     .mapping = {.type = "header:Sentry-Hook-Resource",
                 .id = "header:Request-ID",
                 .tenant = "json:installation.uuid"}},
    {.key = "vercel",
     .schemes = {{{.algorithm = Algorithm::hmac_sha1, .signature = "header:X-Vercel-Signature"}}},
     .mapping = {.type = "json:type", .id = "json:id", .lane = "json:payload.deployment.id"}},
    {.key = "workos",
     .schemes = {{{.syntax = Syntax::pairs,
                   .signature = "header:WorkOS-Signature",
                   .label = "v1",
                   .timestamp = "pair:t",
                   .unit = TimeUnit::milliseconds,
                   .tolerance = std::chrono::seconds{180},
                   .signed_string = "{timestamp}.{body}"}}},
     .mapping = {.type = "json:event", .id = "json:id", .lane = "json:data.id"}},
};

}  // namespace

std::span<const Entry> developer_providers() {
    return kDeveloperProviders;
}

}  // namespace waybill::providers
