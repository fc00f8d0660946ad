#include "providers/known_answers.hpp"

namespace waybill::providers {
namespace {

/// From the documentation or the own tests of each provider.
constexpr KnownAnswer kOfficialAnswers[]{
    {.provider = "github",
     .is_official = true,
     .secret = "It's a Secret to Everybody",
     .headers = "X-GitHub-Event: push\n"
                "X-GitHub-Delivery: d-1\n"
                "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46"
                "f4379c8b043e17\n",
     .body = "Hello, World!",
     .at = 1700000000,
     .type = "push",
     .id = "d-1"},
    {.provider = "github",
     .is_official = true,
     .secret = "mysecret",
     .headers = "X-GitHub-Event: push\n"
                "X-GitHub-Delivery: d-2\n"
                "X-Hub-Signature-256: sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea617941"
                "42f3484236bda3\n",
     .body = "{\"foo\":\"bar\"}",
     .at = 1700000000,
     .type = "push",
     .id = "d-2"},
    {.provider = "bitbucket",
     .is_official = true,
     .secret = "It's a Secret to Everybody",
     .headers = "X-Event-Key: repo:push\n"
                "X-Request-UUID: u-1\n"
                "X-Hub-Signature: sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f293"
                "7e133263c9\n",
     .body = "Hello World!",
     .at = 1700000000,
     .type = "repo:push",
     .id = "u-1"},
    {.provider = "bitbucket",
     .is_official = true,
     .secret = "It's a Secret to Everybody",
     .headers = "X-Event-Key: repo:push\n"
                "X-Hub-Signature: sha256=c48e50b1d349b665dd7bf48bd243f22d5a22758c3f86714f0774aa"
                "c3cab8fc5e\n",
     .body = "{\"hello\":\"world\",\"webhook\":\"secret\"}",
     .at = 1700000000,
     .type = "repo:push"},
    {.provider = "standard-webhooks",
     .is_official = true,
     .secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
     .headers = "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
                "webhook-timestamp: 1614265330\n"
                "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n",
     .body = "{\"test\": 2432232314}",
     .at = 1614265330,
     .type = "webhook",
     .id = "msg_p5jXN8AQM9LWM0D4loKWxJek"},
    {.provider = "standard-webhooks",
     .is_official = true,
     .secret = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
     .headers = "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
                "webhook-timestamp: 1614265330\n"
                "webhook-signature: v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXF"
                "ymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==\n",
     .body = "{\"test\": 2432232314}",
     .at = 1614265330,
     .type = "webhook",
     .id = "msg_p5jXN8AQM9LWM0D4loKWxJek"},
    {.provider = "svix",
     .is_official = true,
     .secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
     .headers = "svix-id: msg_27UH4WbU6Z5A5EzD8u03UvzRbpk\n"
                "svix-timestamp: 1649367553\n"
                "svix-signature: v2,dW5rbm93bg== v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw"
                "=\n",
     .body = "{\"email\":\"test@example.com\",\"username\":\"test_user\"}",
     .at = 1649367553,
     .type = "webhook",
     .id = "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"},
    {.provider = "slack",
     .is_official = true,
     .secret = "8f742231b10e8888abcd99yyyzzz85a5",
     .headers = "X-Slack-Request-Timestamp: 1531420618\n"
                "X-Slack-Signature: v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd2751966648"
                "9c69b503\n",
     .body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&chann"
             "el_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&com"
             "mand=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcom"
             "mands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=3987386"
             "63015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
     .at = 1531420618,
     .type = "/webhook-collect"},
    {.provider = "twilio",
     .is_official = true,
     .secret = "12345",
     .public_url = "https://mycompany.com/myapp.php?foo=1&bar=2",
     .headers = "Content-Type: application/x-www-form-urlencoded\n"
                "X-Twilio-Signature: RSOYDt4T1cUTdK1PDd93/VVr8B8=\n",
     .body = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B1415867530"
             "9&To=%2B18005551212",
     .at = 1700000000,
     .type = "request"},
    {.provider = "twilio",
     .is_official = true,
     .secret = "12345",
     .public_url = "https://mycompany.com/myapp.php?foo=1&bar=2",
     .headers = "Content-Type: application/x-www-form-urlencoded\n"
                "X-Twilio-Signature: kvajT1Ptam85bY51eRf/AJRuM3w=\n",
     .body = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B1415867530"
             "9&To=%2B18005551212",
     .at = 1700000000,
     .type = "request"},
    {.provider = "twilio",
     .is_official = true,
     .secret = "12345",
     .public_url = "https://mycompany.com/myapp.php?foo=1&bar=2",
     .headers = "Content-Type: application/x-www-form-urlencoded\n"
                "X-Twilio-Signature: IK+Dwps556ElfBT0I3Rgjkr1wJU=\n",
     .body = "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234",
     .at = 1700000000,
     .type = "request"},
    {.provider = "twilio",
     .is_official = true,
     .secret = "12345",
     .public_url = "https://mycompany.com/myapp.php",
     .target = "/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80"
               "c7cf19632632f96e6620",
     .headers = "Content-Type: application/json\n"
                "X-Twilio-Signature: a9nBmqA0ju/hNViExpshrM61xv4=\n",
     .body = "{\"property\": \"value\", \"boolean\": true}",
     .at = 1700000000,
     .type = "request"},
    {.provider = "square",
     .is_official = true,
     .secret = "Ibxx_5AKakO-3qeNVR61Dw",
     .public_url = "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9",
     .headers = "x-square-hmacsha256-signature: GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=\n",
     .body =
         "{\"merchant_id\":\"MLEFBHHSJGVHD\",\"type\":\"webhooks.test_notification\",\"event_id\":"
         "\"ac3ac95b-f97d-458c-a6e6-18981597e05f\",\"created_at\":\"2022-07-13T20:30:59.03733"
         "9943Z\",\"data\":{\"type\":\"webhooks\",\"id\":\"bc368e64-01aa-407e-b46e-3231809b1129\"}"
         "}",
     .at = 1700000000,
     .type = "webhooks.test_notification",
     .id = "ac3ac95b-f97d-458c-a6e6-18981597e05f"},
    {.provider = "paddle",
     .is_official = true,
     .secret = "VALID_SECRET",
     .headers = "Paddle-Signature: ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99"
                "dea3105d0ec9612cf43f9\n",
     .body = "{\"data\": [\"1\", \"2\"]}",
     .at = 1698796800,
     .refused = "missing"},
    {.provider = "paddle",
     .is_official = true,
     .secret = "VALID_SECRET",
     .headers = "Paddle-Signature: ts=1698796800;h1=28981e941fae76e53db32f3d2a83cb69db41476595e"
                "84e1970a1b5d98f62b261;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b"
                "5d98f62b261;h2=RANDOM_HASH\n",
     .body = "{\"data\": \"value\"}",
     .at = 1698796800,
     .refused = "missing"},
    {.provider = "hubspot",
     .is_official = true,
     .secret = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy",
     .public_url = "https://www.example.com/webhook_uri",
     .headers = "X-HubSpot-Signature: 232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05"
                "f4817de\n",
     .body =
         "[{\"eventId\":1,\"subscriptionId\":12345,\"portalId\":62515,\"occurredAt\":15641136000"
         "00,\"subscriptionType\":\"contact.creation\",\"attemptNumber\":0,\"objectId\":123,\"cha"
         "ngeSource\":\"CRM\",\"changeFlag\":\"NEW\",\"appId\":54321}]",
     .at = 1700000000,
     .type = "events"},
    {.provider = "hubspot",
     .is_official = true,
     .secret = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy",
     .public_url = "https://www.example.com/webhook_uri",
     .headers = "X-HubSpot-Signature: 9569219f8ba981ffa6f6f16aa0f48637d35d728c7e4d93d0d52efaa51"
                "2af7900\n",
     .body = "{\"example_field\":\"example_value\"}",
     .at = 1700000000,
     .type = "events"},
    {.provider = "hubspot",
     .is_official = true,
     .secret = "cfc68c0b-4b4e-4ef8-b764-95350e4ea479",
     .public_url = "https://webhook.site/335453f5-94b3-49d9-b684-a55354d4b8df",
     .headers = "X-HubSpot-Request-Timestamp: 1752613922216\n"
                "X-HubSpot-Signature-v3: gbj1XPRvUt0noT7i7fXfTzOD4sLzQmf0VT28ZYq0EYg=\n",
     .body =
         "[{\"eventId\":531833541,\"subscriptionId\":3923621,\"portalId\":48807704,\"appId\":161"
         "11050,\"occurredAt\":1752613920733,\"subscriptionType\":\"contact.creation\",\"attemp"
         "tNumber\":0,\"objectId\":138017612137,\"changeFlag\":\"CREATED\",\"changeSource\":\"CRM_"
         "UI\",\"sourceId\":\"userId:76023669\"}]",
     .at = 1752613922,
     .type = "events"},
    {.provider = "sendgrid",
     .is_official = true,
     .secret = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1fl"
               "pVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
     .headers = "X-Twilio-Email-Event-Webhook-Timestamp: 1600112502\n"
                "X-Twilio-Email-Event-Webhook-Signature: MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmM"
                "OVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=\n",
     .body = "[{\"email\":\"hello@world.com\",\"event\":\"dropped\",\"reason\":\"Bounced "
             "Address\",\"sg_event_id\":\"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA\","
             "\"sg_message_id\":\"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-"
             "5F5FC76C-9.0\",\"smtp-id\":\"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>"
             "\",\"timestamp\":1600112492}]\r\n",
     .at = 1700000000,
     .type = "events"},
    {.provider = "adyen",
     .is_official = true,
     .secret = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00",
     .body =
         "{\"notificationItems\":[{\"NotificationRequestItem\":{\"pspReference\":\"pspReference"
         "\",\"originalReference\":\"originalReference\",\"merchantAccountCode\":\"merchantAccou"
         "nt\",\"merchantReference\":\"reference\",\"amount\":{\"value\":1000,\"currency\":\"EUR\"}"
         ",\""
         "eventCode\":\"EVENT\",\"success\":\"true\",\"additionalData\":{\"hmacSignature\":"
         "\"ipnxGCa"
         "UZ4l8TUW75a71/ghd2Fe5ffvX0pV4TLTntIc=\"}}}]}",
     .at = 1700000000,
     .type = "EVENT",
     .id = "EVENT.pspReference",
     .covers_body = false},
    {.provider = "box",
     .is_official = true,
     .secret = "SamplePrimaryKey",
     .headers = "BOX-DELIVERY-TIMESTAMP: 2020-01-01T00:00:00-07:00\n"
                "BOX-SIGNATURE-PRIMARY: 6TfeAW3A1PASkgboxxA5yqHNKOwFyMWuEXny/FPD5hI=\n"
                "BOX-DELIVERY-ID: b-1\n",
     .body = "{\"type\":\"webhook_event\",\"webhook\":{\"id\":\"1234567890\"},\"trigger\":\"FILE."
             "UPLOADED"
             "\",\"source\":{\"id\":\"1234567890\",\"type\":\"file\",\"name\":\"Test.txt\"}}",
     .at = 1577862000,
     .type = "FILE.UPLOADED",
     .id = "b-1"},
    {.provider = "box",
     .is_official = true,
     .secret = "SampleSecondaryKey",
     .headers = "BOX-DELIVERY-TIMESTAMP: 2020-01-01T00:00:00-07:00\n"
                "BOX-SIGNATURE-PRIMARY: 6TfeAW3A1PASkgboxxA5yqHNKOwFyMWuEXny/FPD5hI=\n"
                "BOX-SIGNATURE-SECONDARY: v+1CD1Jdo3muIcbpv5lxxgPglOqMfsNHPV899xWYydo=\n"
                "BOX-DELIVERY-ID: b-1\n",
     .body = "{\"type\":\"webhook_event\",\"webhook\":{\"id\":\"1234567890\"},\"trigger\":\"FILE."
             "UPLOADED"
             "\",\"source\":{\"id\":\"1234567890\",\"type\":\"file\",\"name\":\"Test.txt\"}}",
     .at = 1577862000,
     .type = "FILE.UPLOADED",
     .id = "b-1"},
    {.provider = "circleci",
     .is_official = true,
     .secret = "secret",
     .headers = "circleci-signature: v1=734cc62f32841568f45715aeb9f4d7891324e6d948e4c6c60c0621c"
                "dac48623a\n",
     .body = "hello world",
     .at = 1700000000,
     .refused = "unreadable-body"},
    {.provider = "circleci",
     .is_official = true,
     .secret = "another-secret",
     .headers = "circleci-signature: v1=daa220016c8f29a8b214fbfc3671aeec2145cfb1e6790184ffb38b6"
                "d0425fa00\n",
     .body = "lalala",
     .at = 1700000000,
     .refused = "unreadable-body"},
    {.provider = "notion",
     .is_official = true,
     .secret = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl",
     .headers = "X-Notion-Signature: sha256=461e8cbcba8a75c3edd866f0e71280f5a85cbf21eff040ebd10"
                "fe266df38a735\n",
     .body = "{\"verification_token\":\"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl\"}",
     .at = 1700000000,
     .refused = "missing"},
    {.provider = "razorpay",
     .is_official = true,
     .secret = "123456",
     .headers = "X-Razorpay-Signature: 2fe04e22977002e6c7cb553adab8b460cb9e2a4970d5953cb27a8472"
                "752e3bbc\n",
     .body = "{\"a\":1,\"b\":2,\"c\":{\"d\":3}}",
     .at = 1700000000,
     .refused = "missing"},
    {.provider = "coinbase-commerce",
     .is_official = true,
     .secret = "30291a20-0bd1-4267-9b0f-e6e7b123c0bf",
     .headers = "X-CC-Webhook-Signature: 8be7742c7d372f08a6a3224edadf18a22b65fa9e28f3f2de97376c"
                "daa092590d\n",
     .body =
         "{\"id\":1,\"scheduled_for\":\"2017-01-31T20:50:02Z\",\"attempt_number\":1,\"event\":{\"id"
         "\":\"24934862-d980-46cb-9402-43c81b0cdba6\",\"type\":\"charge:created\",\"api_version\""
         ":\"2018-03-22\",\"created_at\":\"2017-01-31T20:49:02Z\",\"data\":{\"code\":\"66BEOV2A\","
         "\"n"
         "ame\":\"The Sovereign Individual\",\"description\":\"Mastering the Transition to the"
         " Information Age\",\"hosted_url\":\"https://commerce.coinbase.com/charges/66BEOV2A"
         "\",\"created_at\":\"2017-01-31T20:49:02Z\",\"expires_at\":\"2017-01-31T21:04:02Z\",\"tim"
         "eline\":[{\"time\":\"2017-01-31T20:49:02Z\",\"status\":\"NEW\"}],\"metadata\":{},"
         "\"pricing"
         "_type\":\"no_price\",\"payments\":[],\"addresses\":{\"bitcoin\":\"0000000000000000000000"
         "000000000000\",\"ethereum\":\"0x0000000000000000000000000000000000000000\",\"litecoi"
         "n\":\"3000000000000000000000000000000000\",\"bitcoincash\":\"bitcoincash:00000000000"
         "0000000000000000000000000000000\"}}}}",
     .at = 1700000000,
     .type = "charge:created",
     .id = "24934862-d980-46cb-9402-43c81b0cdba6"},
    {.provider = "hook0",
     .is_official = true,
     .secret = "a-subscription-secret",
     .headers = "X-Event-Id: evt-1\n"
                "X-Delivery-Id: dlv-1\n"
                "X-Hook0-Signature: t=1800000000,v0=d17d66b66fca89390c5b967c45e8928fc732db07a0a"
                "abe8167b1e98213081ffe\n",
     .body = "{\"event\":\"user.created\"}",
     .at = 1800000000,
     .type = "user.created",
     .id = "evt-1"},
    {.provider = "hook0",
     .is_official = true,
     .secret = "a-subscription-secret",
     .headers = "X-Event-Id: evt-1\n"
                "X-Delivery-Id: dlv-1\n"
                "X-Hook0-Signature: t=1800000000,h=x-event-id x-delivery-id,v1=19a6fb8f6581715b"
                "241a93af02a58611c3b0ac7b747a8d2a5b120ee418d0c347\n",
     .body = "{\"event\":\"user.created\"}",
     .at = 1800000000,
     .type = "user.created",
     .id = "evt-1"},
    {.provider = "convoy",
     .is_official = true,
     .secret = "convoy-webhook-secret",
     .headers = "X-Convoy-Signature: 244449b7f48cbc2709060c9dcdc2b3aa47a78f540430579015c579fb12"
                "defbb4\n",
     .body = "{\"event\":\"charge.success\",\"amount\":1000,\"currency\":\"NGN\"}",
     .at = 1700000000,
     .type = "charge.success"},
    {.provider = "convoy",
     .is_official = true,
     .secret = "convoy-webhook-secret",
     .headers = "X-Convoy-Signature: t=1700000000,v1=77b8b9269f25a199846a55a2bd25b3fba151c70fda"
                "e60bb1dcd87fbbc943c55c\n",
     .body = "{\"event\":\"charge.success\",\"amount\":1000,\"currency\":\"NGN\"}",
     .at = 1700000000,
     .type = "charge.success"},
};

}  // namespace

std::span<const KnownAnswer> official_answers() {
    return kOfficialAnswers;
}

}  // namespace waybill::providers
