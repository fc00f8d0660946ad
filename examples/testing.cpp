// How a service tests its handlers: the test kit. No threads, no sleeps, no real time; a test about a
// retry after an hour takes no time and always has the same outcome.

#include <cstdio>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include <waybill/testkit.hpp>

namespace {

using namespace std::chrono_literals;
using waybill::Filter;
using waybill::testkit::FaultyStore;
using waybill::testkit::Kit;

/// The service under test.
struct Mailer {
    int sent = 0;
    bool server_is_down = false;

    // [service]
    /// What the service registers, in production on its database.
    void describe(waybill::Waybill& app) {
        app.outbox("mail").on("welcome", "smtp",
                              [this](const waybill::Message& m) {
                                  if (m.body.find('@') == std::string::npos)
                                      throw waybill::PermanentFailure{"no address"};
                                  if (server_is_down) throw std::runtime_error{"no answer"};
                                  ++sent;
                              },
                              {.max_attempts = 5, .backoff = {.base = 30min, .cap = 30min}});
    }
    // [/service]
};

// [first_test]
void a_welcome_mail_is_sent_once() {
    Mailer mailer;
    Kit kit;
    mailer.describe(kit.app);

    kit.app.append({.type = "welcome", .body = "ada@example.com", .dedup_key = "user 1"});
    kit.app.append({.type = "welcome", .body = "ada@example.com", .dedup_key = "user 1"});
    CHECK(kit.run_until_idle());

    CHECK(mailer.sent == 1);
}
// [/first_test]

// [time]
void a_mail_outlasts_an_hour_without_a_server() {
    Mailer mailer{.server_is_down = true};
    Kit kit;
    mailer.describe(kit.app);
    const auto id = kit.app.append({.type = "welcome", .body = "ada@example.com"}).id;

    kit.advance(1h);
    CHECK(kit.state_of(id) == Filter::State::open);
    mailer.server_is_down = false;

    CHECK(kit.run_until_done(id) == Filter::State::done);
    CHECK(mailer.sent == 1);
}
// [/time]

void a_mail_without_address_is_a_dead_letter() {
    Mailer mailer;
    Kit kit;
    mailer.describe(kit.app);

    const auto id = kit.app.append({.type = "welcome", .body = "no address"}).id;

    CHECK(kit.run_until_done(id) == Filter::State::dead);
    CHECK(kit.app.dead_letters().list().items[0].letter.reason == "no address");
    CHECK(kit.events.count(waybill::Event::Kind::started) == 1);
}

// [faults]
void a_lost_answer_sends_no_second_mail() {
    Mailer mailer;
    Kit kit;
    mailer.describe(kit.app);
    const auto id = kit.app.append({.type = "welcome", .body = "ada@example.com"}).id;

    // The result is stored, but the store's answer is lost: it is stored again, not sent again.
    kit.store->fail_next(FaultyStore::Call::settle, FaultyStore::Fault::after);

    CHECK(kit.run_until_done(id) == Filter::State::done);
    kit.advance(1min);
    CHECK(mailer.sent == 1);
}
// [/faults]

}  // namespace

int main() {
    a_welcome_mail_is_sent_once();
    a_mail_outlasts_an_hour_without_a_server();
    a_mail_without_address_is_a_dead_letter();
    a_lost_answer_sends_no_second_mail();
    std::puts("four tests, no time at all");
}
