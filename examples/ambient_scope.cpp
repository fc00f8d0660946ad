// Who it is for: tenant, user and correlation are said once, where a request comes in, and travel with
// everything that its thread appends.

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "check.hpp"
#include <waybill/memory.hpp>
#include <waybill/scope.hpp>
#include <waybill/waybill.hpp>

namespace {

// [scope]
/// Deep inside the service; it knows nothing of tenants.
void place_order(waybill::Waybill& app, const std::string& order) {
    app.append({.type = "order.placed", .body = order});
}

void on_request(waybill::Waybill& app, const std::string& tenant, const std::string& user) {
    const waybill::Scope scope{{.tenant = tenant, .user = user}};
    place_order(app, "a lamp");
}
// [/scope]

}  // namespace

int main() {
    waybill::Waybill app{{.store = waybill::memory::open()}};
    std::mutex mutex;
    std::set<std::string> seen;
    app.inbox("orders").on("order.placed", "billing", [&](const waybill::Message& m) {
        // A handler's own appends are for the same tenant if it says so.
        const waybill::Scope scope{{m.tenant, m.user, m.correlation_id}};
        if (m.lane.empty()) app.append({.type = "order.placed", .body = "a bulb", .lane = "gift"});
        const std::lock_guard lock{mutex};
        seen.insert(m.tenant + "/" + m.user + ": " + m.body);
    });

    on_request(app, "acme", "ada");
    on_request(app, "globex", "grace");
    app.append({.type = "order.placed", .body = "nobody's"});
    CHECK(app.run_until_idle());

    for (const std::string& line : seen) std::printf("%s\n", line.c_str());
    CHECK(seen.contains("acme/ada: a lamp"));
    CHECK(seen.contains("globex/grace: a bulb"));
    CHECK(seen.contains("/: nobody's"));
    CHECK(seen.size() == 6);
}
