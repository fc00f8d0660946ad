#include "server/demo.hpp"

#include "server/token.hpp"

namespace waybill::server {

std::string demo_secret(StoreAccess& store) {
    store.migrate();
    if (const auto kept = store.notebook().note(demo_secret_note)) return *kept;
    const std::string secret = make_token();
    store.notebook().keep_note(demo_secret_note, secret);
    return secret;
}

Config demo_config(const std::string& store_url, const std::string& secret) {
    Config config;
    config.store = store_url;
    add_default_boxes(config.boxes);
    Source source{.name = "demo"};
    source.secrets = {secret};
    source.event_type = "json:type";
    source.event_id = "json:id";
    source.signature.header = "X-Demo-Signature";
    source.signature.prefix = "sha256=";
    config.sources = {source};
    TargetConfig log;
    log.target = {.box = "inbox", .key = "log"};
    log.log = true;
    config.targets = {log};
    return config;
}

}  // namespace waybill::server
