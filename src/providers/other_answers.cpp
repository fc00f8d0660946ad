#include "providers/known_answers.hpp"

namespace waybill::providers {
namespace {

/// Tokens, and public keys whose private half was thrown away.
constexpr KnownAnswer kOtherAnswers[]{
    {.provider = "mailgun",
     .secret = "a-secret-of-the-self-test",
     .body = "{\"signature\":{\"timestamp\":\"1700000000\",\"token\":\"tok\",\"signature\":"
             "\"caf10a2b9936"
             "3e319592298b9d6c6542073761bdcb7889225e1edf4d6a7bcf58\"},\"event-data\":{\"event\":\""
             "delivered\",\"id\":\"mg-1\"}}",
     .at = 1700000000,
     .type = "delivered",
     .id = "mg-1",
     .covers_body = false},
    {.provider = "okta",
     .secret = "a-secret-of-the-self-test",
     .headers = "Authorization: a-secret-of-the-self-test\n",
     .body = "{\"eventId\":\"o-1\",\"eventType\":\"com.okta.event_hook\"}",
     .at = 1700000000,
     .type = "com.okta.event_hook",
     .id = "o-1",
     .covers_body = false},
    {.provider = "gitlab",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Gitlab-Event: Push Hook\n"
                "X-Gitlab-Token: a-secret-of-the-self-test\n"
                "Idempotency-Key: gl-1\n",
     .body = "{\"object_kind\":\"push\",\"project\":{\"path_with_namespace\":\"a/b\"}}",
     .at = 1700000000,
     .type = "Push Hook",
     .id = "gl-1",
     .covers_body = false},
    {.provider = "microsoft-graph",
     .secret = "a-secret-of-the-self-test",
     .body =
         "{\"value\":[{\"clientState\":\"a-secret-of-the-self-test\",\"changeType\":\"updated\",\"r"
         "esource\":\"me/events/1\",\"tenantId\":\"t\"}]}",
     .at = 1700000000,
     .type = "changes",
     .covers_body = false},
    {.provider = "event-grid",
     .secret = "a-secret-of-the-self-test",
     .target = "/webhooks/grid?token=a-secret-of-the-self-test",
     .headers = "aeg-event-type: Notification\n",
     .body =
         "[{\"id\":\"eg-1\",\"eventType\":\"Microsoft.Storage.BlobCreated\",\"subject\":\"s\"}]",
     .at = 1700000000,
     .type = "Microsoft.Storage.BlobCreated",
     .id = "eg-1",
     .covers_body = false},
    {.provider = "bearer",
     .secret = "a-secret-of-the-self-test",
     .headers = "Authorization: Bearer a-secret-of-the-self-test\n",
     .body = "{\"type\":\"t\",\"id\":\"1\"}",
     .at = 1700000000,
     .type = "t",
     .id = "1",
     .covers_body = false},
    {.provider = "basic",
     .secret = "user:pass",
     .headers = "Authorization: Basic dXNlcjpwYXNz\n",
     .body = "{\"type\":\"t\",\"id\":\"1\"}",
     .at = 1700000000,
     .type = "t",
     .id = "1",
     .covers_body = false},
    {.provider = "api-key",
     .secret = "a-secret-of-the-self-test",
     .headers = "X-Api-Key: a-secret-of-the-self-test\n",
     .body = "{\"type\":\"t\",\"id\":\"1\"}",
     .at = 1700000000,
     .type = "t",
     .id = "1",
     .covers_body = false},
    {.provider = "none",
     .secret = "a-secret-of-the-self-test",
     .headers = "Authorization: Bearer a-secret-of-the-self-test\n",
     .body = "{\"type\":\"t\",\"id\":\"1\"}",
     .at = 1700000000,
     .type = "t",
     .id = "1",
     .covers_body = false},
    {.provider = "cloudevents",
     .secret = "a-secret-of-the-self-test",
     .headers = "Authorization: Bearer a-secret-of-the-self-test\n"
                "ce-specversion: 1.0\n"
                "ce-id: c-1\n"
                "ce-source: /orders\n"
                "ce-type: order.placed\n",
     .body = "{}",
     .at = 1700000000,
     .type = "order.placed",
     .id = "/orders c-1",
     .covers_body = false},
    {.provider = "cloudevents",
     .secret = "a-secret-of-the-self-test",
     .headers = "Authorization: Bearer a-secret-of-the-self-test\n"
                "Content-Type: application/cloudevents+json\n",
     .body = "{\"specversion\":\"1.0\",\"id\":\"c-2\",\"source\":\"/"
             "orders\",\"type\":\"order.placed\",\"data"
             "\":{}}",
     .at = 1700000000,
     .type = "order.placed",
     .id = "/orders c-2",
     .covers_body = false},
    {.provider = "discord",
     .secret = "e40746a7b9a1f50e5d519f866d8037ea33d525d00507f1d57329a7a256ddcb1d",
     .headers = "X-Signature-Ed25519: e91858b410cb42ce18080b4201b100c2840de6da90e309b3f66daeeb7"
                "b6e2807ac619e63645e0f601daa9950804e5fb4fd4285ff90e512e54eae07ce1f5bb305\n"
                "X-Signature-Timestamp: 1700000000\n",
     .body = "{\"id\":\"846462639134605312\",\"type\":2,\"guild_id\":\"290926798626357999\"}",
     .at = 1700000000,
     .type = "2",
     .id = "846462639134605312"},
    {.provider = "paypal",
     .secret = "-----BEGIN PUBLIC KEY-----\n"
               "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxewquLGfBNyftBE8Lblv\n"
               "ng9ZGCrDQPHZKPbzMfSsZn6PjnC1qBuH/TSK6f6V86jSmD4mW8cd5vXYryDl1qW0\n"
               "8h7me6Q749q/lhqPKJ8+dssQ6qv4YdJH/L5KO009zLWNTWRXqNAKMUmolCNjnFjc\n"
               "cICHfzgKgqFnDynX8b9rfPJ4B90ld4ypfBgQ9q5pK98fW926QqBKaxbi7Groj+1Z\n"
               "3BOzQ6/J2hMittGeAyuuNRkJ/wk7epX/sHijM448T+XkJZ3qrVZpuaE42wrU3vyx\n"
               "jn7yx2p0pOPixGpqyMWfo4ljJFh289Dm/drwf4AiF6jaqZe79rZGye7hcUcntXcu\n"
               "+QIDAQAB\n"
               "-----END PUBLIC KEY-----\n",
     .webhook_id = "4JH86294D6297924G",
     .headers = "PAYPAL-TRANSMISSION-ID: dfb3be50-fd74-11e4-8bf3-77339302725b\n"
                "PAYPAL-TRANSMISSION-TIME: 2015-05-18T15:45:13Z\n"
                "PAYPAL-TRANSMISSION-SIG: HhywKhue0qDI+pbXsD5kUlxGkSPgQBf960rTEtXQVnwVG8dvv67lb"
                "61S3wicaghfa586/Q2VI+JOhWHfXeRmoHJTxqExq02Qx4AVq0WIduNfomLA3nHPjwZNQlEj8eylvdz"
                "BriSGCKDaS+RDjkUBZJjzGF23t9iIkB+R7oUPbt6V5pDdG4iWyC5Su9CHP3nZSNjxouq0C/dYMbM1t"
                "ZgzJllRbmae2QG65Qxz5hRwvj1XJuErHytv/2rF9QaExO1DfIKE7sSM31XANEE6BCoEGoFTcDJpnpC"
                "jA0QJX75zVy4a6QHIToYXwrt+eXNT8mjs6wphIT0gjjQaYGMpYpajgQ==\n",
     .body = "{\"id\":\"WH-1\",\"event_type\":\"PAYMENT.CAPTURE.COMPLETED\",\"resource\":{\"id\":"
             "\"r-1\"}}",
     .at = 1700000000,
     .type = "PAYMENT.CAPTURE.COMPLETED",
     .id = "WH-1"},
};

}  // namespace

std::span<const KnownAnswer> other_answers() {
    return kOtherAnswers;
}

}  // namespace waybill::providers
