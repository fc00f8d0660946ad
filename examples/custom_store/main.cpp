// A store of one's own: what it must do, in two hundred lines, and an application that does not
// notice the difference.

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "../check.hpp"
#include "shelf.hpp"
#include <waybill/waybill.hpp>

int main() {
    using namespace std::chrono_literals;
    std::mutex mutex;
    std::map<std::string, std::vector<std::string>> ledger;
    const auto book = [&](const waybill::Message& m, waybill::Context& context) {
        if (m.body == "withdraw 20" && context.attempt() < 3) throw std::runtime_error{"busy"};
        if (m.body == "nonsense") throw waybill::PermanentFailure{"no such booking"};
        const std::lock_guard lock{mutex};
        ledger[m.lane].push_back(m.body);
    };

    // [use]
    const auto shelf = std::make_shared<Shelf>();
    waybill::Waybill app{{.store = shelf}};
    app.inbox("accounts").on("account.*", "ledger", book, {.backoff = {.base = 20ms}});
    // [/use]

    for (const char* customer : {"ada", "grace"}) {
        for (const char* step : {"deposit 50", "withdraw 20", "nonsense", "close"}) {
            app.append({.type = "account.changed",
                        .body = step,
                        .lane = customer,
                        .dedup_key = std::string{customer} + step});
        }
    }
    const auto again = app.append(
        {.type = "account.changed", .body = "close", .lane = "ada", .dedup_key = "adaclose"});
    CHECK(again.status == waybill::AppendResult::Status::duplicate);
    CHECK(shelf->open_rows() == 8);

    app.start();
    CHECK(app.wait_done());
    app.stop();

    for (const auto& [customer, steps] : ledger) {
        std::printf("%s:", customer.c_str());
        for (const std::string& step : steps) std::printf(" %s;", step.c_str());
        std::printf("\n");
        CHECK((steps == std::vector<std::string>{"deposit 50", "withdraw 20", "close"}));
    }
    CHECK(ledger.size() == 2);
    CHECK(shelf->open_rows() == 0);
    CHECK(shelf->dead_letters() == 2);
}
