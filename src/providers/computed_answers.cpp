#include "providers/known_answers.hpp"

namespace waybill::providers {
namespace {

/// For those who publish none: computed with the command line of OpenSSL and with Python, not by this
/// code.
constexpr KnownAnswer kComputedAnswers[]{
    {.provider = "stripe",
     .secret = "whsec_test",
     .headers = "Stripe-Signature: t=1700000000,v1=2926a5ae560f840a9549412b3e3582fb1f54757d3da5"
                "e30037000d2081bd39ea,v0=00\n",
     .body = "{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"invoice.paid\",\"account\":\"acct_"
             "1\",\"data\""
             ":{\"object\":{\"id\":\"in_1\"}}}",
     .at = 1700000000,
     .type = "invoice.paid",
     .id = "evt_1"},
    {.provider = "shopify",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Shopify-Topic: orders/create\n"
                "X-Shopify-Event-Id: se-1\n"
                "X-Shopify-Hmac-SHA256: RDxRmCqX2+Aht/qSgUjvj4BoixlZpq8YEWJMqLX/5hI=\n",
     .body = "{\"id\":820982911946154500,\"total_price\":\"4.00\"}",
     .at = 1700000000,
     .type = "orders/create",
     .id = "se-1"},
    {.provider = "slack",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Slack-Request-Timestamp: 1700000000\n"
                "X-Slack-Signature: v0=26ec414655cd09365c4335cf4b81555f5b680bdda9733f3d49732836"
                "1529a9b7\n",
     .body = "{\"type\":\"event_callback\",\"team_id\":\"T1\",\"event_id\":\"Ev1\",\"event\":{"
             "\"type\":\"app_"
             "mention\"}}",
     .at = 1700000000,
     .type = "app_mention",
     .id = "Ev1"},
    {.provider = "paddle",
     .secret = "a-secret-of-the-self-test",
     .headers = "Paddle-Signature: ts=1700000000;h1=1983e1ee09f35f7e23d716170a8a3b0fc2b9dd9e232"
                "67bd7e8d1ab8037f16970\n",
     .body =
         "{\"event_id\":\"ev_1\",\"event_type\":\"transaction.paid\",\"data\":{\"id\":\"txn_1\"}}",
     .at = 1700000000,
     .type = "transaction.paid",
     .id = "ev_1"},
    {.provider = "linear",
     .secret = "a-secret-of-the-self-test",
     .headers = "Linear-Delivery: l-1\n"
                "Linear-Signature: 7d39817d8b346016dabe479b2328d7aa844261eaf23ec0f5e78cf9ad9b2a"
                "7699\n",
     .body = "{\"type\":\"Issue\",\"action\":\"create\",\"data\":{\"id\":\"i-1\"},"
             "\"organizationId\":\"o-1\",\""
             "webhookTimestamp\":1700000000000}",
     .at = 1700000000,
     .type = "Issue.create",
     .id = "l-1"},
    {.provider = "zoom",
     .secret = "a-secret-of-the-self-test",
     .headers = "x-zm-request-timestamp: 1700000000\n"
                "x-zm-signature: v0=926c768fae501bf989f4301666684d6a22ca9ee193279ea4d96537778c6"
                "38705\n",
     .body = "{\"event\":\"meeting.started\",\"payload\":{\"account_id\":\"a\",\"object\":{"
             "\"uuid\":\"m-1\"}"
             "},\"event_ts\":1700000000000}",
     .at = 1700000000,
     .type = "meeting.started"},
    {.provider = "meta",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Hub-Signature-256: sha256=3893414bfdb3032817e81a576a137877e648ddeb3c9e4c831c"
                "bb55abc91626d5\n",
     .body = "{\"object\":\"whatsapp_business_account\",\"entry\":[{\"id\":\"1\",\"time\":1}]}",
     .at = 1700000000,
     .type = "whatsapp_business_account"},
    {.provider = "twitch",
     .secret = "a-secret-of-the-self-test",
     .headers = "Twitch-Eventsub-Message-Id: tm-1\n"
                "Twitch-Eventsub-Message-Timestamp: 2023-11-14T22:13:20.123456789Z\n"
                "Twitch-Eventsub-Message-Type: notification\n"
                "Twitch-Eventsub-Message-Signature: sha256=0e212098d4efc6e4bd724d32316f107cd708"
                "b1d1bfe22c4c967df31f11978b1b\n",
     .body = "{\"subscription\":{\"id\":\"s-1\",\"type\":\"channel.follow\"},\"event\":{}}",
     .at = 1700000000,
     .type = "channel.follow",
     .id = "tm-1"},
    {.provider = "zendesk",
     .secret = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==",
     .headers = "X-Zendesk-Webhook-Signature-Timestamp: 2023-11-14T22:13:20Z\n"
                "X-Zendesk-Webhook-Signature: CyO34oizcnuQN9HGqayebb78W7db/HhBzIsdTxtFI7A=\n"
                "X-Zendesk-Webhook-Invocation-Id: z-1\n",
     .body = "{\"type\":\"zen:event-type:ticket.created\",\"account_id\":1}",
     .at = 1700000000,
     .type = "zen:event-type:ticket.created",
     .id = "z-1"},
    {.provider = "workos",
     .secret = "a-secret-of-the-self-test",
     .headers = "WorkOS-Signature: t=1700000000000, v1=6955bcc048232b0f7c30b3f7b37a9e20d086a7e4"
                "24df1447d52c31121641eca0\n",
     .body = "{\"id\":\"w-1\",\"event\":\"user.created\",\"data\":{\"id\":\"u-1\"}}",
     .at = 1700000000,
     .type = "user.created",
     .id = "w-1"},
    {.provider = "dropbox",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Dropbox-Signature: 0aa659f8f786860f6da2cd17c1992debd3d3c63f1e213b7156d3616ce"
                "6b36ba7\n",
     .body = "{\"list_folder\":{\"accounts\":[\"dbid:1\"]}}",
     .at = 1700000000,
     .type = "changes"},
    {.provider = "xero",
     .secret = "a-secret-of-the-self-test",
     .headers = "x-xero-signature: 6i7HI/OxbKd2aJ/htnI15Q4rDgQowS9rLm3ioY0u2gM=\n",
     .body = "{\"events\":[],\"firstEventSequence\":0,\"lastEventSequence\":0,\"entropy\":\"X\"}",
     .at = 1700000000,
     .type = "events"},
    {.provider = "trello",
     .secret = "a-secret-of-the-self-test",
     .public_url = "https://hooks.example.com/trello",
     .headers = "X-Trello-Webhook: F1D1pY7XqvIyv9T0XH3ILrG0/po=\n",
     .body = "{\"action\":{\"id\":\"a-1\",\"type\":\"updateCard\"},\"model\":{\"id\":\"m-1\"}}",
     .at = 1700000000,
     .type = "updateCard",
     .id = "a-1"},
    {.provider = "asana",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Hook-Signature: 43dcdd711928ee63353c8d4953a999d1bf4151526d655f594a19177bd097"
                "5cfa\n",
     .body = "{\"events\":[{\"action\":\"changed\"}]}",
     .at = 1700000000,
     .type = "events"},
    {.provider = "x",
     .secret = "a-secret-of-the-self-test",
     .headers = "x-twitter-webhooks-signature: sha256=DIGl1cbCWVlCCul0TAfgP1KTrJWX0AhRGUH8MeQ59"
                "sk=\n",
     .body = "{\"for_user_id\":\"1\",\"tweet_create_events\":[]}",
     .at = 1700000000,
     .type = "activity"},
    {.provider = "pagerduty",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-PagerDuty-Signature: v1=d96d6bc0964c5c8a6182290bd1ec97afc9b0e27f66e34959d848"
                "37d13ad76bb4,v1=fa74e89a65d116e785370bce2913d8dd871bbf5e49408df807db60f8ccea7b"
                "ea\n",
     .body = "{\"event\":{\"id\":\"p-1\",\"event_type\":\"incident.triggered\",\"data\":{\"id\":"
             "\"i-1\"}}}",
     .at = 1700000000,
     .type = "incident.triggered",
     .id = "p-1"},
    {.provider = "intercom",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Hub-Signature: sha1=a0fe2f6b041fb99c7392184043ff9bae225e7533\n",
     .body = "{\"id\":\"n-1\",\"topic\":\"conversation.user.created\",\"app_id\":\"app\"}",
     .at = 1700000000,
     .type = "conversation.user.created",
     .id = "n-1"},
    {.provider = "vercel",
     .secret = "a-secret-of-the-self-test",
     .headers = "x-vercel-signature: 3bcf2b72bf31d8e3cc73c1007152412aac33d324\n",
     .body = "{\"id\":\"v-1\",\"type\":\"deployment.created\",\"payload\":{\"deployment\":{\"id\":"
             "\"d\"}}}",
     .at = 1700000000,
     .type = "deployment.created",
     .id = "v-1"},
    {.provider = "typeform",
     .secret = "a-secret-of-the-self-test",
     .headers = "Typeform-Signature: sha256=fTN+qcvvJyiwqY33Hir/7nkKA6YSb45yLrOrJ4TMDw8=\n",
     .body = "{\"event_id\":\"tf-1\",\"event_type\":\"form_response\",\"form_response\":{\"form_"
             "id\":\"f\""
             "}}",
     .at = 1700000000,
     .type = "form_response",
     .id = "tf-1"},
    {.provider = "calendly",
     .secret = "a-secret-of-the-self-test",
     .headers = "Calendly-Webhook-Signature: t=1700000000,v1=eece0599d75e86126a40a2f2c144b798e5"
                "90a8f442a6bab271bcf2ee697cda06\n",
     .body = "{\"event\":\"invitee.created\",\"payload\":{\"uri\":\"https://x\"}}",
     .at = 1700000000,
     .type = "invitee.created"},
    {.provider = "sentry",
     .secret = "a-secret-of-the-self-test",
     .headers = "Sentry-Hook-Resource: issue\n"
                "Request-ID: r-1\n"
                "Sentry-Hook-Signature: 3c638f56ea31bc7530d8cd2f6878f356bca6a5b4d9ce042213b1974"
                "67af18d70\n",
     .body = "{\"action\":\"created\",\"installation\":{\"uuid\":\"i\"}}",
     .at = 1700000000,
     .type = "issue",
     .id = "r-1"},
    {.provider = "docusign",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-DocuSign-Signature-1: Kj6eKT/mbrvM+vxdgxm8kDY9NmI8RvKzSDFO6q6WW/4=\n"
                "X-DocuSign-Signature-2: tn3GPoKIjcfLBTFRiFV8Knu0OY12/ciTDBo/BI/8ZZg=\n",
     .body = "{\"event\":\"envelope-completed\",\"data\":{\"envelopeId\":\"e-1\",\"accountId\":\"a-"
             "1\"}}",
     .at = 1700000000,
     .type = "envelope-completed"},
    {.provider = "paystack",
     .secret = "a-secret-of-the-self-test",
     .headers = "x-paystack-signature: 3c7b37052266cedbcbb330f73f261f49200fbf8d7737b849ba66e718"
                "430e0c50dfca9164fc554cc0fe76bcd18c134f6adb048b4eedd02b36aa3625333cfd959a\n",
     .body = "{\"event\":\"charge.success\",\"data\":{\"reference\":\"r\"}}",
     .at = 1700000000,
     .type = "charge.success"},
    {.provider = "lemon-squeezy",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Signature: c4ddb7fa0f15927c9af9099a4bea64f4dc9b674948f26212f6103f1e8bd23532\n",
     .body = "{\"meta\":{\"event_name\":\"order_created\"},\"data\":{\"id\":\"1\"}}",
     .at = 1700000000,
     .type = "order_created"},
    {.provider = "gitea",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Gitea-Event: push\n"
                "X-Gitea-Delivery: g-1\n"
                "X-Gitea-Signature: c0dbdab3c35573d6f34feec9c18f0e24a7d3a81c846b202b65cfa6ae28d"
                "64ea1\n",
     .body = "{\"repository\":{\"full_name\":\"a/b\"}}",
     .at = 1700000000,
     .type = "push",
     .id = "g-1"},
    {.provider = "gitea",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Forgejo-Event: push\n"
                "X-Forgejo-Delivery: g-2\n"
                "X-Forgejo-Signature: c0dbdab3c35573d6f34feec9c18f0e24a7d3a81c846b202b65cfa6ae2"
                "8d64ea1\n",
     .body = "{\"repository\":{\"full_name\":\"a/b\"}}",
     .at = 1700000000,
     .type = "push",
     .id = "g-2"},
    {.provider = "gitlab",
     .secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
     .headers = "X-Gitlab-Event: Push Hook\n"
                "webhook-id: gl-2\n"
                "webhook-timestamp: 1700000000\n"
                "webhook-signature: v1,lib/aRLxsMVSXvCGguxvSk13+VwLYCs6HgjESSjfgsI=\n",
     .body = "{\"object_kind\":\"push\",\"project\":{\"path_with_namespace\":\"a/b\"}}",
     .at = 1700000000,
     .type = "Push Hook",
     .id = "gl-2"},
    {.provider = "adyen-platform",
     .secret = "00112233445566778899aabbccddeeff",
     .headers = "HmacSignature: 0OcGpm+UWDM5Rt34Zaqe44Dsbh5bjXpr2spQPEndPPc=\n",
     .body = "{\"type\":\"balancePlatform.transfer.created\",\"data\":{\"id\":\"t-1\"}}",
     .at = 1700000000,
     .type = "balancePlatform.transfer.created"},
    {.provider = "contentful",
     .secret = "a-secret-of-the-self-test",
     .target = "/webhooks/contentful",
     .headers = "x-contentful-timestamp: 1700000000000\n"
                "x-contentful-topic: ContentManagement.Entry.publish\n"
                "x-contentful-signed-headers: x-contentful-signed-headers,x-contentful-timestam"
                "p,x-contentful-topic\n"
                "x-contentful-signature: b0c1c4299458061d6963301a2e8f4fc888a46c17f5a63cd9ac12d1"
                "f85b46de05\n",
     .body = "{\"sys\":{\"id\":\"c-1\"}}",
     .at = 1700000000,
     .type = "ContentManagement.Entry.publish"},
    {.provider = "generic",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Signature-256: 6bb166a93a86ee2bd6b27de43874788c3b93ae04b5b433da8012b22e957d6"
                "4fe\n",
     .body = "{\"type\":\"order.placed\",\"id\":\"g-1\"}",
     .at = 1700000000,
     .type = "order.placed"},
    {.provider = "outbox",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Outbox-Event: order.placed\n"
                "X-Outbox-Message-Id: ob-1\n"
                "X-Outbox-Signature: sha256=78992510f50c03e6fef01e8a80a7cd0cd76ba3204e0501f8765"
                "7f3d59e4ffe75\n",
     .body = "{\"n\":1}",
     .at = 1700000000,
     .type = "order.placed",
     .id = "ob-1"},
};

}  // namespace

std::span<const KnownAnswer> computed_answers() {
    return kComputedAnswers;
}

}  // namespace waybill::providers
