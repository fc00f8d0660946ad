#include "server/config/here.hpp"

#include <algorithm>

#include "server/door_options.hpp"

namespace waybill::server {

SaidHere check_here(const LoadedConfig& loaded, StoreTime now) {
    SaidHere said;
    const http_in::Options options = door_options(loaded.config);
    if (const std::string problem = http_in::problem_of_host(options.host); !problem.empty()) {
        said.problems.push_back(loaded.place("server.listen") + problem +
                                "; name one of its addresses, or 0.0.0.0 for all");
    }
    if (!options.tls) return said;
    try {
        const auto tls = http_in::read_tls(*options.tls);
        const std::string advice = http_in::advice_on(*tls, now);
        if (!advice.empty()) said.warnings.push_back(loaded.place("server.tls.cert") + advice);
    } catch (const ConfigError& error) {
        for (const std::string& problem : error.problems()) {
            const std::size_t colon = std::min(problem.find(": "), problem.size());
            said.problems.push_back(loaded.place("server." + problem.substr(0, colon)) +
                                    problem.substr(std::min(colon + 2, problem.size())));
        }
    }
    return said;
}

}  // namespace waybill::server
