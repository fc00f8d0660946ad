#include <utility>

#include "core/address.hpp"
#include "transport/http_out/egress.hpp"
#include "waybill/deliver.hpp"

namespace waybill {

std::shared_ptr<const http_out::Egress> make_egress(const EgressOptions& options) {
    auto egress = std::make_shared<http_out::Egress>();
    egress->allow_private = options.allow_private;
    egress->https_only = options.https_only;
    egress->ports = options.ports;
    Problems problems;
    for (const std::string& text : options.allow) {
        if (const auto network = parse_network(text)) {
            egress->allow.push_back(*network);
        } else {
            problems.push_back("allow: \"" + text +
                               "\" is no network; write 10.0.0.0/8 or fd00::/8");
        }
    }
    if (!problems.empty()) throw ConfigError{std::move(problems)};
    return egress;
}

}  // namespace waybill
