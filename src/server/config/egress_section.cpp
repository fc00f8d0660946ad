#include "server/config/parts.hpp"

namespace waybill::server {
namespace {

using http_out::Verdict;

void read_networks(Section& section, std::vector<Network>& networks) {
    std::vector<std::string> texts;
    section.texts("allow", texts);
    for (const std::string& text : texts) {
        if (const auto network = parse_network(text)) {
            networks.push_back(*network);
        } else {
            section.problem("allow", in_quotes(text) +
                                         " is not a network; write \"127.0.0.1/32\", "
                                         "\"10.1.0.0/16\" or \"fd00:1::/32\"");
        }
    }
}

}  // namespace

void read_egress(Section section, EgressConfig& egress) {
    section.boolean("allow_private", egress.rules.allow_private);
    read_networks(section, egress.rules.allow);
    section.boolean("https_only", egress.rules.https_only);
    section.ports("ports", egress.rules.ports);
    section.size("response_max", egress.response_max);
    section.text("ca", egress.ca);
    section.text("client_cert", egress.client_cert);
    section.text("client_key", egress.client_key);
    section.url("proxy", egress.proxy);
    if (egress.client_cert.empty() != egress.client_key.empty()) {
        section.problem("client_cert", "needs client_key, and the other way round");
    }
    if (!egress.proxy.empty() && !egress.proxy.starts_with("http://")) {
        section.problem("proxy", "must be \"http://host:port\"");
    }
    section.finish();
}

std::string problem_of_egress(const EgressConfig& egress, const std::string& url) {
    switch (const Verdict verdict = http_out::judge_url(egress.rules, url)) {
        case Verdict::allowed:
        case Verdict::bad_url: return {};  // of which it is said elsewhere
        case Verdict::scheme: return " is not https, and egress.https_only is true";
        case Verdict::port: return " has a port that is not among egress.ports";
        default:
            return " is " + std::string{http_out::name_of(verdict)} +
                   ": not called unless [egress] allows its network, such as allow = "
                   "[\"127.0.0.1/32\"] for 127.0.0.1";
    }
}

}  // namespace waybill::server
