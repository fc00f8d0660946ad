#include "server/demo.hpp"

#include <fstream>

#include "server/store_access.hpp"
#include "server/token.hpp"

namespace waybill::server {
namespace {

std::string kept_secret(const std::string& store_url) {
    const std::string store = file_of(store_url);
    if (store.empty()) return make_token();
    const std::string path = store + ".demo-secret";
    std::string secret;
    std::ifstream file{path};
    if (std::getline(file, secret) && !secret.empty()) return secret;
    secret = make_token();
    write_private_file(path, secret + "\n");
    return secret;
}

}  // namespace

Demo make_demo(const std::string& store_url) {
    Demo demo;
    demo.secret = kept_secret(store_url);
    demo.config.store = store_url;
    demo.config.boxes = {{.name = "inbox"}};
    Source source{.name = "demo"};
    source.secrets = {demo.secret};
    source.event_type = "json:type";
    source.event_id = "json:id";
    source.signature.header = "X-Demo-Signature";
    source.signature.prefix = "sha256=";
    demo.config.sources = {source};
    TargetConfig log;
    log.target = {.box = "inbox", .key = "log"};
    log.log = true;
    demo.config.targets = {log};
    return demo;
}

}  // namespace waybill::server
