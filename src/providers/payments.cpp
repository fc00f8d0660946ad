#include "providers/catalogue.hpp"

namespace waybill::providers {
namespace {

using std::chrono::seconds;

constexpr Entry kPaymentProviders[]{
    {.key = "adyen",
     .schemes =
         {{{.encoding = Encoding::base64,
            .key = KeyForm::hex,
            .signature =
                "json:notificationItems.0.NotificationRequestItem.additionalData.hmacSignature",
            .signed_strings = adyen_strings}}},
     .mapping = {.type = "json:notificationItems.0.NotificationRequestItem.eventCode",
                 .id = "json:notificationItems.0.NotificationRequestItem.eventCode+"
                       "json:notificationItems.0.NotificationRequestItem.pspReference",
                 .lane = "json:notificationItems.0.NotificationRequestItem.merchantReference",
                 .tenant = "json:notificationItems.0.NotificationRequestItem.merchantAccountCode"}},
    {.key = "adyen-platform",
     .schemes = {{{.encoding = Encoding::base64,
                   .key = KeyForm::hex,
                   .signature = "header:HmacSignature"}}},
     .mapping = {.type = "json:type", .lane = "json:data.id"}},
    {.key = "coinbase-commerce",
     .schemes = {{{.signature = "header:X-CC-Webhook-Signature"}}},
     .mapping = {.type = "json:event.type",
                 .id = "json:event.id",
                 .lane = "json:event.data.code|json:event.data.id"}},
    {.key = "lemon-squeezy",
     .schemes = {{{.signature = "header:X-Signature"}}},
     .mapping = {.type = "json:meta.event_name", .lane = "json:data.id"}},
    {.key = "paddle",
     .schemes = {{{.syntax = Syntax::pairs,
                   .signature = "header:Paddle-Signature",
                   .label = "h1",
                   .separator = ';',
                   .timestamp = "pair:ts",
                   .signed_string = "{timestamp}:{body}"}}},
     .mapping = {.type = "json:event_type", .id = "json:event_id", .lane = "json:data.id"}},
    // The body is covered by a CRC-32, which anyone can keep while changing it.
    {.key = "paypal",
     .schemes = {{{.algorithm = Algorithm::rsa,
                   .encoding = Encoding::base64,
                   .key = KeyForm::pem,
                   .signature = "header:PayPal-Transmission-Sig",
                   .timestamp = "header:PayPal-Transmission-Time",
                   .unit = TimeUnit::rfc3339,
                   .tolerance = forever,
                   .signed_strings = paypal_strings}}},
     .mapping = {.type = "json:event_type", .id = "json:id", .lane = "json:resource.id"},
     .body_is_loose = true},
    {.key = "paystack",
     .schemes = {{{.algorithm = Algorithm::hmac_sha512,
                   .signature = "header:X-Paystack-Signature"}}},
     .mapping = {.type = "json:event", .lane = "json:data.reference"}},
    {.key = "razorpay",
     .schemes = {{{.signature = "header:X-Razorpay-Signature"}}},
     .mapping = {.type = "json:event",
                 .id = "header:X-Razorpay-Event-Id",
                 .tenant = "json:account_id"}},
    {.key = "shopify",
     .schemes = {{{.encoding = Encoding::base64,
                   .signature = "header:X-Shopify-Hmac-SHA256|header:Shopify-Hmac-Sha256"}}},
     .mapping = {.type = "header:X-Shopify-Topic|header:Shopify-Topic",
                 .id = "header:X-Shopify-Event-Id|header:X-Shopify-Webhook-Id",
                 .lane = "json:id",
                 .tenant = "header:X-Shopify-Shop-Domain"}},
    {.key = "square",
     .schemes = {{{.encoding = Encoding::base64,
                   .signature = "header:X-Square-HmacSha256-Signature",
                   .signed_string = "{url}{body}"}}},
     .mapping = {.type = "json:type",
                 .id = "json:event_id",
                 .lane = "json:data.id",
                 .tenant = "json:merchant_id"}},
    // The key is the whole secret, whsec_ and all.
    {.key = "stripe",
     .schemes = {{{.syntax = Syntax::pairs,
                   .signature = "header:Stripe-Signature",
                   .label = "v1",
                   .timestamp = "pair:t",
                   .signed_string = "{timestamp}.{body}"}}},
     .mapping = {.type = "json:type",
                 .id = "json:id",
                 .lane = "json:data.object.id",
                 .tenant = "json:account",
                 .correlation = "header:Idempotency-Key"}},
    // It sends badly signed requests on purpose, and wants 401 for them.
    {.key = "xero",
     .schemes = {{{.encoding = Encoding::base64, .signature = "header:X-Xero-Signature"}}},
     .mapping = {.type = "=events"},
     .bad_signature_status = 401},
};

}  // namespace

std::span<const Entry> payment_providers() {
    return kPaymentProviders;
}

}  // namespace waybill::providers
