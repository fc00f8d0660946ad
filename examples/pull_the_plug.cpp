// kill -9 in the middle of a handler: the next start goes on with what was not done, in order.

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"
#include <waybill/sqlite.hpp>
#include <waybill/waybill.hpp>

namespace {

// [pull_the_plug]
std::vector<std::string> handle_orders(const std::string& file, bool is_first_run) {
    std::vector<std::string> handled;
    waybill::Waybill app{{.store = waybill::sqlite::open(file)}};
    app.inbox("orders").on("order.placed", "billing.charge",
                           [&](const waybill::Message& m, waybill::Context& context) {
                               std::printf("charge %s, attempt %u\n", m.body.c_str(),
                                           context.attempt());
                               std::fflush(stdout);
                               if (is_first_run && m.body == "order 2") std::raise(SIGKILL);
                               handled.push_back(m.body);
                           });
    if (is_first_run) {
        for (const char* order : {"order 1", "order 2", "order 3"}) {
            app.append({.type = "order.placed", .body = order, .lane = "customer 7"});
        }
    }
    app.run_until_idle();
    return handled;
}
// [/pull_the_plug]

}  // namespace

int main(int, char** argv) {
    const std::string file = std::string{argv[0]} + ".db";
    for (const char* part : {"", "-wal", "-shm", "-owner"}) std::remove((file + part).c_str());

    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        handle_orders(file, true);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    CHECK((handle_orders(file, false) == std::vector<std::string>{"order 2", "order 3"}));
}
