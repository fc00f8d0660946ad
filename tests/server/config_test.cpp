#include "server/config/config.hpp"

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/config/units.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Variables = std::map<std::string, std::string>;

Environment environment(Variables variables = {}) {
    variables.emplace("SECRET", "canary-secret-of-32-characters!!");
    return variables;
}

Problems problems_of(const std::string& text, const Variables& variables = {}) {
    try {
        load_config(text, "waybill.toml", environment(variables));
        return {};
    } catch (const ConfigError& error) {
        return error.problems();
    }
}

/// The contract's own example, as far as this version knows it.
constexpr const char* kFull = R"(
store      = "sqlite:orders.db"
durability = "relaxed"
instance   = "one"
busy_timeout = "3s"

[engine]
lease  = "10s"
window = "32MiB"
poll   = "1s"
shutdown_timeout = "5s"

[server]
listen        = "[::1]:9090"
body_max      = "2MiB"
header_max    = "8KiB"
connections_max = 77
connections_per_address = 64
requests_per_address = "50/s"
body_rate_min = "2KiB"
waiting_max   = 500
tls           = { cert = "c.pem", key = "k.pem" }
admin_tokens  = ["env:TOKEN"]
claims        = { tenant = "tid", user = "sub", jwt_secret = "env:OLD" }

[sources.stripe]
provider  = "stripe"
secrets   = ["env:SECRET", "env:OLD"]
tolerance = "10m"
box       = "inbox"
path      = "/stripe/events"
gzip      = "signed-inside"

[sources.acme]
provider         = "generic"
secrets          = ["env:SECRET"]
signature_header = "X-Acme-Signature"
signature_prefix = "sha256="
event_type       = "header:X-Acme-Event"
event_id         = "header:X-Acme-Id"
lane             = "json:order.id"
tenant           = "header:X-Acme-Tenant"

[boxes.inbox]
lanes    = "strict"
on_dead  = "halt"
unmatched = "dead"
dedup_window = "7d"
keep_done = "1d"
keep_dead = "forever"
attempts_log = "all"
concurrency = 8

[[targets]]
key     = "audit"
command = ["./handle", "--json"]

[[targets]]
key     = "billing"
box     = "inbox"
match   = { source = "stripe", type = "invoice.*", tenant = "*" }
url     = "http://127.0.0.1:9000/stripe"
secret  = "env:SECRET"
after   = "audit"
retry   = { max_attempts = 3, base = "1s", multiplier = 3.0, cap = "1m", jitter = 0.1 }
timeout = "20s"
concurrency = 16
rate    = "100/s"
legacy_keys = ["billing-v1"]

[egress]
allow_private = true
allow         = ["169.254.1.0/24", "fd00::/8"]
https_only    = false
ports         = [443, 9000]
response_max  = "1KiB"
)";

TEST(Config, EveryKeyIsRead) {
    const Config config =
        load_config(kFull, "waybill.toml", environment({{"OLD", "older"}, {"TOKEN", "t"}})).config;

    EXPECT_EQ(config.store, "sqlite:orders.db");
    EXPECT_TRUE(config.relaxed_durability);
    EXPECT_EQ(config.instance, "one");
    EXPECT_EQ(config.busy_timeout, seconds{3});
    EXPECT_EQ(config.engine.lease, seconds{10});
    EXPECT_EQ(config.engine.window, 32U << 20);
    EXPECT_EQ(config.engine.shutdown_timeout, seconds{5});
    EXPECT_TRUE(config.egress.rules.allow_private);
    EXPECT_EQ(config.egress.rules.allow, (std::vector{parse_network("169.254.1.0/24").value(),
                                                      parse_network("fd00::/8").value()}));
    EXPECT_EQ(config.egress.rules.ports, (std::vector<std::uint16_t>{443, 9000}));
    EXPECT_EQ(config.egress.response_max, 1U << 10);
    EXPECT_EQ(config.server.host, "::1");
    EXPECT_EQ(config.server.port, 9090);
    EXPECT_EQ(config.server.body_max, 2U << 20);
    EXPECT_EQ(config.server.header_max, 8U << 10);
    EXPECT_EQ(config.server.connections_max, 77U);
    EXPECT_EQ(config.server.connections_per_address, 64U);
    EXPECT_DOUBLE_EQ(config.server.requests_per_address, 50.0);
    EXPECT_EQ(config.server.body_rate_min, 2U << 10);
    EXPECT_EQ(config.server.waiting_max, 500U);
    EXPECT_EQ(config.server.tls_cert, "c.pem");
    EXPECT_EQ(config.server.tls_key, "k.pem");
    EXPECT_THAT(config.server.admin_tokens, ElementsAre("t"));
    EXPECT_EQ(config.server.claims, (server::ClaimsConfig{"tid", "sub", "older"}));

    ASSERT_EQ(config.sources.size(), 2U);
    const Source& acme = config.sources[0];
    EXPECT_EQ(acme.name, "acme");
    EXPECT_EQ(acme.signature.header, "X-Acme-Signature");
    EXPECT_EQ(acme.signature.prefix, "sha256=");
    EXPECT_EQ(acme.event_type, "header:X-Acme-Event");
    EXPECT_EQ(acme.lane, "json:order.id");
    const Source& stripe = config.sources[1];
    EXPECT_THAT(stripe.secrets, ElementsAre("canary-secret-of-32-characters!!", "older"));
    EXPECT_EQ(stripe.tolerance, minutes{10});
    EXPECT_EQ(stripe.path, "/stripe/events");
    EXPECT_EQ(stripe.gzip, Gzip::signed_inside);

    ASSERT_EQ(config.boxes.size(), 2U) << "and the outbox";
    const BoxOptions& inbox = config.boxes[0].options;
    EXPECT_EQ(inbox.lanes, Lanes::strict);
    EXPECT_EQ(inbox.on_dead, OnDead::halt);
    EXPECT_EQ(inbox.unmatched, Unmatched::dead);
    EXPECT_EQ(inbox.dedup_window, std::chrono::hours{24 * 7});
    EXPECT_EQ(inbox.keep_dead, forever);
    EXPECT_EQ(inbox.attempts_log, AttemptsLog::all);
    EXPECT_EQ(inbox.concurrency, 8U);

    ASSERT_EQ(config.targets.size(), 2U);
    EXPECT_THAT(config.targets[0].command, ElementsAre("./handle", "--json"));
    const TargetConfig& billing = config.targets[1];
    EXPECT_EQ(billing.target.matcher, (Matcher{"invoice.*", "stripe", "*"}));
    EXPECT_EQ(billing.url, "http://127.0.0.1:9000/stripe");
    EXPECT_EQ(billing.target.after, "audit");
    EXPECT_EQ(billing.options.retry.max_attempts, 3U);
    EXPECT_EQ(billing.options.retry.backoff.cap, minutes{1});
    EXPECT_EQ(billing.options.timeout, seconds{20});
    EXPECT_DOUBLE_EQ(billing.options.rate, 100.0);
    EXPECT_THAT(billing.target.legacy_keys, ElementsAre("billing-v1"));
}

TEST(Config, NothingAtAllIsTheDefaults) {
    Config expected;
    expected.boxes = {{.name = "inbox"}, {.name = "outbox"}};
    expected.boxes[1].options.unmatched = Unmatched::done;

    EXPECT_EQ(load_config("", "waybill.toml", environment()).config, expected);
}

struct Wrong {
    const char* text;
    const char* problem;
};

TEST(Config, EachMistakeIsNamedWithItsLineAndARemedy) {
    const std::vector<Wrong> table{
        {"stroe = 'memory:'", "waybill.toml:1: stroe: is not a known key; did you mean \"store\"?"},
        {"\nzzzzzzzzz = 1", "waybill.toml:2: zzzzzzzzz: is not a known key; remove it"},
        {"store = 'oracle:x'",
         "waybill.toml:1: store: \"oracle:x\" is not a store of this version"},
        {"store = 'sqlite:/no/such/folder/x.db'",
         "waybill.toml:1: store: there is no folder \"/no/such/folder/\"; make it"},
        {"store = 5", "waybill.toml:1: store: must be a text in quotes"},
        {"store =", "waybill.toml:1: this is not TOML"},
        {"store = é", "waybill.toml:1: this is not TOML"},
        {"[= 'x' }", "waybill.toml:1: this is not TOML"},
        {"store = 'memory:'\nstore = 'memory:'", "waybill.toml:2: this is not TOML"},
        {"durability = 'lax'", "durability: \"lax\" is not one of \"strict\", \"relaxed\""},
        {"engine = 3", "waybill.toml:1: engine: must be a table"},
        {"[engine]\nlease = '5 parsecs'",
         "waybill.toml:2: engine.lease: \"5 parsecs\" is not a duration"},
        {"[engine]\nlease = 5", "waybill.toml:2: engine.lease: \"5\" is not a duration"},
        {"[engine]\nwindow = '5 acres'", "engine.window: \"5 acres\" is not a size"},
        {"[engine]\nleese = '5s'", "engine.leese: is not a known key; did you mean \"lease\"?"},
        {"[server]\nlisten = '8080'", "server.listen: \"8080\" is not HOST:PORT"},
        {"[server]\nlisten = '::1:8080'", "server.listen: \"::1:8080\" is not HOST:PORT"},
        {"[server]\nlisten = 'a:99999'", "server.listen: \"a:99999\" is not HOST:PORT"},
        {"[server]\nlisten = '0.0.0.0:80'",
         "server.admin_tokens: is required when listening on 0.0.0.0"},
        {"[server]\nlisten = '127.0.0.256:80'",
         "waybill.toml:2: server.listen: the host must be an IP address or a name"},
        {"[server]\nlisten = 'a b:80'", "waybill.toml:2: server.listen: the host must be"},
        {"[server]\nlisten = '127.evil.example:80'",
         "server.admin_tokens: is required when listening on 127.evil.example"},
        {"[server]\nheader_max = '1B'", "waybill.toml:2: server.header_max: must be 1 KiB … 1 MiB"},
        {"[server]\nbody_max = '1GiB'", "waybill.toml:2: server.body_max: must be at most 256 MiB"},
        {"[server]\nrequests_per_address = '9999999/s'",
         "waybill.toml:2: server.requests_per_address: must be 0 (no limit) … 1,000,000"},
        {"store = 'sqlite:'", "waybill.toml:1: store: names no file; use \"sqlite:PATH\""},
        {"store = 'sqlite::memory:'", "waybill.toml:1: store: \"sqlite::memory:\" is no file; use"},
        {"store = 'sqlite:/tmp'", "waybill.toml:1: store: \"/tmp\" is a folder; name a file in it"},
        {"instance = \"a\\u0000b\"", "waybill.toml:1: instance: must be at most 128 bytes"},
        {"busy_timeout = '0s'", "busy_timeout: must be \"1ms\" … \"10m\""},
        {"[server]\nwaiting_max = 0", "server.waiting_max: must be a whole number, 1 … 10000000"},
        {"[server]\nrequests_per_address = 'fast'", "server.requests_per_address: "},
        {"[server]\nconnections_max = 0",
         "server.connections_max: must be a whole number, 1 … 1000000"},
        {"[server]\nconnections_max = 1.5", "server.connections_max: must be a whole number"},
        {"[server]\nconnections_max = []", "server.connections_max: must be a whole number"},
        {"[server]\ntls = { cert = 'c' }", "waybill.toml:2: server.tls: needs both cert and key"},
        {"[server]\ntls = { cert = 'c', key = 'k', ca = 'x' }",
         "server.tls.ca: is not a known key"},
        {"[server]\nadmin_tokens = 'x'", "server.admin_tokens: must be a list of secrets"},
        {"[server]\nclaims = { tenant = 'tid' }",
         "server.claims.jwt_secret: is missing; set it to what your tokens are signed with"},
        {"[server]\nclaims = { jwt_secret = 'env:SECRET' }",
         "server.claims: says neither tenant nor user; name the claims they are in"},
        {"[server]\nclaims = { tenat = 'tid', jwt_secret = 'env:SECRET' }",
         "server.claims.tenat: is not a known key; did you mean \"tenant\"?"},
        {"[server]\nclaims = { tenant = 'tid', jwt_secret = 'env:NOPE' }",
         "server.claims.jwt_secret: \"env:NOPE\" is not set"},
        {"[[targets]]\nkey = 'a'\nurl = 'https://example.com'\nsecret = 'whsec_x'",
         "targets[0].secret: starts with whsec_ and goes on with something that is not base64"},
        {"[server]\nadmin_tokens = ['env:NOPE']",
         "server.admin_tokens: \"env:NOPE\" is not set; export it, or use \"file:…\""},
        {"[sources.a]\nprovider = 'stripee'\nsecrets = ['env:SECRET']",
         "waybill.toml:2: sources.a.provider: \"stripee\" is not a provider; did you mean "
         "\"stripe\"?"},
        {"[sources.a]\nprovider = 'stripe'\nsecrets = ['env:STRIPE']",
         "waybill.toml:3: sources.a.secrets: \"env:STRIPE\" is not set"},
        {"[sources.a]\nprovider = 'stripe'\nsecrets = ['file:none.txt']",
         "sources.a.secrets: \"file:none.txt\" the file none.txt cannot be read"},
        {"[sources.a]\nprovider = 'stripe'\nsecrets = ['cmd:false']",
         "sources.a.secrets: \"cmd:false\" the command failed"},
        {"[sources.a]\nprovider = 'stripe'\nsecrets = ['']", "sources.a.secrets: \"***\" is empty"},
        {"[sources.a]\nprovider = 'stripe'", "sources.a: "},
        {"[sources.a]\nprovider = 'stripe'\nsecrets = ['env:SECRET']\nsecret = 'x'",
         "waybill.toml:4: sources.a.secret: is not a known key; did you mean \"secrets\"?"},
        {"[sources.a]\nprovider = 'stripe'\nsecrets = ['env:SECRET']\nbox = 'inbx'",
         "sources.a.box: \"inbx\" is not a box; did you mean \"inbox\"? Or add [boxes.inbx]"},
        {"[sources.a]\nprovider = 'stripe'\nsecrets = ['env:SECRET']\ntolerance = 'soon'",
         "sources.a.tolerance: \"soon\" is not a duration"},
        {"[sources.'a b']\nprovider = 'none'",
         "waybill.toml:1: sources.a b: the name must be 1 … 64"},
        {"[sources.a]\nprovider = 'none'\n[sources.A]\nprovider = 'none'",
         "sources.a: the name is there twice, but for its case; choose another"},
        {"[sources.a]\nprovider = 'none'\npath = 'x'",
         "waybill.toml:3: sources.a.path: \"x\" is not a path; it begins with /"},
        {"[sources.a]\nprovider = 'none'\npath = '/x?y'", "sources.a.path: \"/x?y\" is not a path"},
        {"[sources.a]\nprovider = 'none'\npath = '/healthz'",
         "waybill.toml:3: sources.a.path: \"/healthz\" is the server's own"},
        {"[sources.a]\nprovider = 'none'\npath = '/v1/x'",
         "sources.a.path: \"/v1/x\" is the server's"},
        {"[sources.a]\nprovider = 'none'\npath = '/x'\n[sources.b]\nprovider = 'none'\npath = '/x'",
         "waybill.toml:6: sources.b.path: \"/x\" is another source's, too"},
        {"[sources.a]\nprovider = 'none'\npath = '/webhooks/B'\n[sources.b]\nprovider = 'none'",
         "sources.a.path: \"/webhooks/B\" is where another source is by its name"},
        {"sources = 1", "sources: must be tables: write [sources.NAME]"},
        {"[boxes.inbox]\nlanes = 'fifo'",
         "boxes.inbox.lanes: \"fifo\" is not one of \"none\", \"exclusive\""},
        {"[boxes.inbox]\nconcurrency = -1",
         "boxes.inbox.concurrency: must be a whole number, 1 … 100000"},
        {"[boxes.'in box']\n", "boxes.in box: "},
        {"[boxes.inbox]\nkeep_doen = '1d'",
         "boxes.inbox.keep_doen: is not a known key; did you mean \"keep_done\"?"},
        {"[targets]\nkey = 'a'", "targets: must be a list of tables: write [[targets]]"},
        {"[[targets]]\nkey = 'a'", "waybill.toml:1: targets[0]: a target needs exactly one of"},
        {"[[targets]]\nkey = 'a'\nurl = 'http://x'\nlog = true",
         "targets[0]: a target needs exactly one of"},
        {"[[targets]]\nkey = 'a'\nurl = 'ftp://x'",
         "targets[0].url: \"ftp://x\" must begin with http://"},
        {"[[targets]]\nkey = 'a'\nurl = 'http://'", "targets[0].url: \"http://\" is not a URL"},
        {"[[targets]]\nlog = true", "targets[0]: "},
        {"[[targets]]\nkey = 'a'\nlog = 'yes'", "targets[0].log: must be true or false"},
        {"[[targets]]\nkey = 'a'\ncommand = 'x'", "targets[0].command: must be a list of texts"},
        {"[[targets]]\nkey = 'a'\nlog = true\nretry = { max_attempts = 0 }",
         "targets[0].retry.max_attempts: must be a whole number, 1 … 1000"},
        {"[[targets]]\nkey = 'a'\nlog = true\nretry = { jitter = 2.0 }",
         "targets[0].retry.jitter: must be a number, 0 … 1"},
        {"[[targets]]\nkey = 'a'\nlog = true\nretry = { schedule = ['5s', 'x'] }",
         "targets[0].retry.schedule: \"x\" is not a duration"},
        {"[[targets]]\nkey = 'a'\nlog = true\nrate = 'fast'",
         "targets[0].rate: \"fast\" is not a rate"},
        {"[[targets]]\nkey = 'a'\nlog = true\nmatch = { typ = 'x' }",
         "targets[0].match.typ: is not a known key; did you mean \"type\"?"},
        {"[[targets]]\nkey = 'a'\nlog = true\nafter = 'b'", "targets: "},
        {"[[targets]]\nkey = 'a'\nlog = true\n[[targets]]\nkey = 'a'\nlog = true", "targets: "},
        {"[[targets]]\nkey = 'a'\nlog = true\nbox = 'x'", "targets[0].box: \"x\" is not a box"},
        {"[[subscriptions]]\ntype = '*'", "waybill.toml:1: subscriptions[0]: url: is missing"},
        {"[[subscriptions]]\nurl = 'https://a.example'\nsigning = ['none']",
         "subscriptions[0].signing: \"none\" is not one of \"standard\", \"outbox\""},
        {"[[subscriptions]]\nurl = 'https://a.example'\nheaders = { Host = 'x' }",
         "subscriptions[0]: headers: \"Host\""},
        {"[[subscriptions]]\nurl = 'https://a.example'\nheaders = ['x']",
         "subscriptions[0].headers: must be headers"},
        {"[[subscriptions]]\nurl = 'http://10.0.0.1/'",
         "subscriptions[0].url: \"http://10.0.0.1/\" is private-network"},
        {"[[subscriptions]]\nurl = 'https://a.example'\nid = 'x'",
         "subscriptions[0].id: \"x\" is not a UUID"},
        {"[[subscriptions]]\nurl = 'https://a.example'\nbox = 'x'",
         "subscriptions[0].box: \"x\" is not a box"},
        {"[egress]\nallow = ['10.0.0.1/8']", "egress.allow: \"10.0.0.1/8\" is not a network"},
        {"[egress]\nports = [0]", "egress.ports: must be a list of ports"},
        {"[egress]\nallow_privat = true", "did you mean \"allow_private\"?"},
        {"[[targets]]\nkey = 'a'\nurl = 'http://127.0.0.1:9000/'",
         "targets[0].url: \"http://127.0.0.1:9000/\" is loopback: not called unless [egress] "
         "allows "
         "its network, such as allow = [\"127.0.0.1/32\"] for 127.0.0.1"},
        {"[egress]\nallow_private = true\n[[targets]]\nkey = 'a'\nurl = 'http://169.254.169.254/'",
         "targets[0].url: \"http://169.254.169.254/\" is link-local"},
        {"[egress]\nhttps_only = true\n[[targets]]\nkey = 'a'\nurl = 'http://a.example/'",
         "targets[0].url: \"http://a.example/\" is not https"},
        {"[egress]\nports = [443]\n[[targets]]\nkey = 'a'\nurl = 'http://a.example/'",
         "targets[0].url: \"http://a.example/\" has a port that is not among egress.ports"},
        {"[telemetry]\nprometheus = 'yes'", "telemetry.prometheus: must be true or false"},
        {"[telemetry]\notlp = 'http://x'", "telemetry.otlp: this version does not know it yet"},
        {"[telemetry]\nprometeus = true",
         "telemetry.prometeus: is not a known key; did you mean \"prometheus\"?"},
        {"[secrets]\ntenant_pattern = 'env:X'", "secrets.tenant_pattern: must contain {tenant}"},
        {"[secrets]\nkey = 'short'", "secrets.key: is shorter than 16 characters"},
        {"[egress]\nproxy = 'socks5://x'", "egress.proxy: must be \"http://host:port\""},
        {"[egress]\nclient_cert = 'a.pem'", "egress.client_cert: needs client_key"},
    };
    for (const Wrong& one : table) {
        EXPECT_THAT(problems_of(one.text), Contains(HasSubstr(one.problem))) << one.text;
    }
}

TEST(Config, AllMistakesComeAtOnce) {
    const Problems problems = problems_of(
        "stroe = 'memory:'\n[engine]\nlease = 'x'\n[sources.a]\nprovider = 'nope'\n"
        "[[targets]]\nkey = 'a'\n");

    EXPECT_THAT(problems, Contains(HasSubstr(":1: stroe")));
    EXPECT_THAT(problems, Contains(HasSubstr(":3: engine.lease")));
    EXPECT_THAT(problems, Contains(HasSubstr(":5: sources.a.provider")));
    EXPECT_THAT(problems, Contains(HasSubstr("targets[0]")));
}

TEST(Config, TheEnvironmentOverridesScalars) {
    const Config config =
        load_config("[sources.my-shop]\nprovider = 'stripe'\nsecrets = ['env:SECRET']\n",
                    "waybill.toml",
                    environment({{"WAYBILL_STORE", "memory:"},
                                 {"WAYBILL_DURABILITY", "relaxed"},
                                 {"WAYBILL_SERVER__LISTEN", "127.0.0.1:99"},
                                 {"WAYBILL_SERVER__CONNECTIONS_MAX", "5"},
                                 {"WAYBILL_ENGINE__LEASE", "250ms"},
                                 {"WAYBILL_SOURCES__MY_SHOP__TOLERANCE", "1m"}}))
            .config;

    EXPECT_EQ(config.store, "memory:");
    EXPECT_TRUE(config.relaxed_durability);
    EXPECT_EQ(config.server.port, 99);
    EXPECT_EQ(config.server.connections_max, 5U);
    EXPECT_EQ(config.engine.lease, milliseconds{250});
    EXPECT_EQ(config.sources[0].tolerance, minutes{1});
}

TEST(Config, AWrongOverrideIsAMistakeToo) {
    EXPECT_THAT(problems_of("", {{"WAYBILL_ENGINE__LEASE", "soon"}}),
                ElementsAre(HasSubstr("engine.lease: \"soon\" is not a duration")));
}

TEST(Config, AnOverrideOfNothingIsNamedWithTheNearestOne) {
    const std::string source = "[sources.a]\nprovider = 'none'\n";
    const std::vector<std::pair<std::string, std::string>> table{
        {"WAYBILL_SERVER__LISTN", "overrides nothing; did you mean WAYBILL_SERVER__LISTEN?"},
        {"WAYBILL_SERVER_LISTEN", "overrides nothing; did you mean WAYBILL_SERVER__LISTEN?"},
        {"WAYBILL_LISTEN", "overrides nothing; did you mean WAYBILL_SERVER__LISTEN?"},
        {"WAYBILL_SOURCES__A__PROVIDR", "did you mean WAYBILL_SOURCES__A__PROVIDER?"},
        {"WAYBILL_SOURCES__B__PROVIDER", "did you mean WAYBILL_SOURCES__A__PROVIDER?"},
        {"WAYBILL_TARGETS__0__URL", "WAYBILL_TARGETS__0__URL: overrides nothing"},
        {"WAYBILL_SERVER__ADMIN_TOKENS", "a list cannot be overridden; write it in the file"},
        {"WAYBILL_TELEMETRY__OTLP", "telemetry.otlp: this version does not know it yet"},
    };
    for (const auto& [name, problem] : table) {
        EXPECT_THAT(problems_of(source, {{name, "x"}}), ElementsAre(HasSubstr(problem))) << name;
    }
}

TEST(Config, AVariableThatMayBeSomebodyElsesIsAWarning) {
    const auto warnings_with = [](const std::string& name) {
        return load_config("", "waybill.toml", environment({{name, "x"}})).warnings;
    };

    EXPECT_THAT(warnings_with("WAYBILL_STROE"),
                ElementsAre("WAYBILL_STROE: overrides nothing; did you mean WAYBILL_STORE?"));
    EXPECT_THAT(warnings_with("WAYBILL_ADMIN_TOKEN"),
                ElementsAre("WAYBILL_ADMIN_TOKEN: overrides nothing"));
    // What the server tells its own children, and Kubernetes everybody.
    for (const char* name : {"WAYBILL_MESSAGE_ID", "WAYBILL_SOURCE", "WAYBILL_ATTRIBUTE_X__Y",
                             "WAYBILL_PORT", "WAYBILL_SERVICE_HOST", "WAYBILL_SERVICE_PORT_HTTP",
                             "WAYBILL_PORT_8080_TCP_ADDR", "WAYBILL_ADMIN_PORT", "OTHER__THING"}) {
        EXPECT_THAT(warnings_with(name), IsEmpty()) << name;
    }
}

TEST(Config, AVariableThatASecretIsReadFromOverridesNothingAndIsFine) {
    const LoadedConfig loaded =
        load_config("[server]\nadmin_tokens = ['env:WAYBILL_MY__TOKEN']\n", "waybill.toml",
                    environment({{"WAYBILL_MY__TOKEN", "a-token-of-many-bytes"}}));

    EXPECT_THAT(loaded.warnings, IsEmpty());
}

TEST(Config, APasswordInAUrlIsNeverShown) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"postgresql://user:canary@host:5432/db", "postgresql://user:***@host:5432/db"},
        {"postgresql://user:can/ary@host/db", "postgresql://user:***@host/db"},
        {"postgresql://user:c@n@ry@host/db", "postgresql://user:***@host/db"},
        {"postgresql://user:c@n/ary@host/db", "postgresql://user:***@host/db"},
        {"postgresql://host/db?user=u&password=canary&x=1",
         "postgresql://host/db?user=u&password=***&x=1"},
        {"host=h password=canary user=u", "host=h password=*** user=u"},
        {"redis://:canary@host:6379/0", "redis://:***@host:6379/0"},
        {"https://canary@host/x", "https://***@host/x"},
        {"http://host:80/@name", "http://host:80/@name"},
        {"http://[::1]:80/x@y", "http://[::1]:80/x@y"},
        {"http://[::1]/x@y", "http://[::1]/x@y"},
        {"sqlite:a@b.db", "sqlite:a@b.db"},
    };
    for (const auto& [url, shown] : table) EXPECT_EQ(masked_url(url), shown);

    const std::string store = "mysql://user:canary@host/db";
    for (const Problems& problems :
         {problems_of("store = '" + store + "'"), problems_of("", {{"WAYBILL_STORE", store}}),
          problems_of("[[targets]]\nkey = 'a'\nurl = 'ftp://user:canary@host/'")}) {
        EXPECT_THAT(problems, ElementsAre(HasSubstr("//user:***@host/")));
        EXPECT_THAT(problems, Not(Contains(HasSubstr("canary"))));
    }
    EXPECT_THAT(
        load_config("[[targets]]\nkey = 'a'\nurl = 'http://user:canary@host/'\n", "waybill.toml",
                    environment())
            .effective,
        testing::AllOf(HasSubstr("url = \"http://user:***@host/\""), Not(HasSubstr("canary"))));
}

TEST(Config, OnlyAnAddressOfThisHostNeedsNoToken) {
    for (const char* host : {"127.0.0.1", "127.8.9.10", "localhost", "LocalHost", "[::1]",
                             "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"}) {
        EXPECT_THAT(problems_of("[server]\nlisten = '" + std::string{host} + ":80'"), IsEmpty())
            << host;
    }
    for (const char* host :
         {"127.evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "128.0.0.1",
          "0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[::2]"}) {
        EXPECT_THAT(problems_of("[server]\nlisten = '" + std::string{host} + ":80'"),
                    ElementsAre(HasSubstr("admin_tokens: is required when listening on")))
            << host;
    }
}

TEST(Config, ASecretThatIsNotThereIsOneMistakeNotTwo) {
    EXPECT_THAT(
        problems_of("[sources.a]\nprovider = 'stripe'\nsecrets = ['env:NOPE']\n"),
        ElementsAre("waybill.toml:3: sources.a.secrets: \"env:NOPE\" is not set; export it, "
                    "or use \"file:…\""));
}

TEST(Config, WhoNeedsNoSecretsIsNotAskedForThem) {
    const std::string text =
        "[server]\nlisten = '0.0.0.0:80'\nadmin_tokens = ['env:NOPE']\n"
        "[sources.a]\nprovider = 'sendgrid'\nsecrets = ['file:none', 'cmd:exit 1', 'literal']\n"
        "[[targets]]\nkey = 'a'\nurl = 'http://x'\nsecret = 'env:NOPE'\n";

    const LoadedConfig loaded = load_config(text, "waybill.toml", environment(), Secrets::unneeded);

    EXPECT_THAT(loaded.config.sources, testing::SizeIs(1));
    EXPECT_THAT(loaded.warnings, IsEmpty());
    EXPECT_THROW(load_config(text + "[engin]\n", "waybill.toml", environment(), Secrets::unneeded),
                 ConfigError);
}

TEST(Config, SecretsComeFromFilesAndCommandsWithoutTheirLineEnd) {
    test::TemporaryFolder folder;
    std::ofstream{folder.file("s")} << "from-a-file\n";
    const std::string text =
        "[sources.a]\nprovider = 'stripe'\nsecrets = ['file:" + folder.file("s") +
        "', 'cmd:printf from-a-command']\n";

    const Config config = load_config(text, "waybill.toml", environment()).config;

    EXPECT_THAT(config.sources[0].secrets, ElementsAre("from-a-file", "from-a-command"));
}

TEST(Config, ACommandForASecretDoesNotInheritTheServersSockets) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_GT(socket, STDERR_FILENO);
    const std::string number = std::to_string(socket);

    const FoundSecret found = find_secret(
        "cmd:test -e /proc/$$/fd/" + number + " && echo open || echo closed", environment());

    ::close(socket);
    EXPECT_EQ(found.value, "closed");
}

TEST(Config, ASecretInTheFileIsAWarningAndIsNeverShown) {
    const LoadedConfig loaded = load_config(
        "[sources.a]\nprovider = 'stripe'\nsecrets = ['canary-literal-of-length', 'env:SECRET']\n",
        "waybill.toml", environment());

    EXPECT_THAT(loaded.warnings,
                ElementsAre(HasSubstr("waybill.toml:3: sources.a.secrets: a secret is written")));
    EXPECT_THAT(loaded.effective, HasSubstr("sources.a.secrets = [\"***\", \"env:SECRET\"]"));
    EXPECT_THAT(loaded.effective, Not(HasSubstr("canary")));
    EXPECT_THAT(loaded.warnings, Not(Contains(HasSubstr("canary"))));
}

TEST(Config, WhatIsInForceReadsAsTheSameConfiguration) {
    const Environment variables = environment({{"OLD", "older"}, {"TOKEN", "t"}});
    const LoadedConfig first = load_config(kFull, "waybill.toml", variables);

    const LoadedConfig second = load_config(first.effective, "effective.toml", variables);

    EXPECT_EQ(second.config, first.config);
    EXPECT_EQ(second.effective, first.effective);
}

TEST(Units, QuantitiesAreReadAsPeopleWriteThem) {
    EXPECT_EQ(parse_duration("250ms"), milliseconds{250});
    EXPECT_EQ(parse_duration("forever"), forever);
    EXPECT_EQ(parse_duration("99999999999999999999d"), std::nullopt);
    EXPECT_EQ(parse_duration("9999999999999d"), std::nullopt);
    EXPECT_EQ(parse_duration("-5s"), std::nullopt);
    EXPECT_EQ(parse_size("1MiB"), 1U << 20);
    EXPECT_EQ(parse_size("17"), 17U);
    EXPECT_EQ(parse_size("99999999999GiB"), std::nullopt);
    EXPECT_EQ(parse_rate("30/m"), 0.5);
    EXPECT_EQ(duration_text(seconds{90}), "90s");
    EXPECT_EQ(duration_text(minutes{2}), "2m");
    EXPECT_EQ(duration_text(seconds{0}), "0s");
    EXPECT_EQ(size_text(1U << 20), "1MiB");
    EXPECT_EQ(nearest("sotre", {"store", "server"}), "store");
    EXPECT_EQ(nearest("quux", {"store", "server"}), "");
}

TEST(Config, ACommandThatNeverSaysItsSecretIsGivenUpAndEnded) {
    const auto before = system_clock().now();

    const FoundSecret slow = find_secret("cmd:sleep 100", environment(), milliseconds{50});
    const FoundSecret mute =
        find_secret("cmd:echo x; exec >&-; sleep 100", environment(), milliseconds{500});
    const FoundSecret loud = find_secret("cmd:yes", environment());
    const FoundSecret quick = find_secret("cmd:echo it", environment());

    EXPECT_LT(system_clock().now() - before, seconds{60});
    EXPECT_THAT(mute.problem, HasSubstr("did not end in time"));
    EXPECT_THAT(slow.problem, HasSubstr("did not end in time"));
    EXPECT_THAT(loud.problem, HasSubstr("said too much"));
    EXPECT_EQ(quick.value, "it");
    EXPECT_EQ(quick.problem, "");
}

}  // namespace
}  // namespace waybill::server
