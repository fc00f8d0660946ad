#include <charconv>
#include <csignal>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <libpq-fe.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fault/told.hpp"
#include "support/pacing.hpp"
#include "waybill/postgres.hpp"
#include "waybill/waybill.hpp"

/// One instance of an application on a PostgreSQL, in a process of its own. What its handlers do is said by
/// the messages; it tells the test what it runs and what its engine hears. instances.hpp starts it.
namespace waybill::fault {
namespace {

using namespace std::chrono_literals;
using Kind = Told::Kind;

/// The pipe to the test.
constexpr int kTold = 3;

std::map<std::string, std::string> words;

std::int64_t number_of(const std::string& name) {
    return std::stoll(words.at(name));
}

void tell(const Told& told) {
    const std::string line = told.line();
    if (::write(kTold, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(3);
}

class Teller final : public Observer {
public:
    void on_event(const Event& event) noexcept override {
        constexpr std::size_t text_max = 300;
        std::string text{event.text.substr(0, text_max)};
        for (char& letter : text) {
            if (letter == '\n') letter = ' ';
        }
        tell({.kind = Kind::event,
              .instance = words.at("name"),
              .what = std::string{to_string(event.kind)},
              .target = std::string{event.target},
              .number = static_cast<std::int64_t>(event.count),
              .partition = event.partition,
              .message = event.message.is_nil() ? "" : waybill::to_string(event.message),
              .text = text});
    }
};

/// Until the test lets go of it.
void wait_at_gate() {
    const int gate = ::open(words.at("gate").c_str(), O_RDONLY | O_CLOEXEC);
    while (::flock(gate, LOCK_SH) != 0 && errno == EINTR) {
    }
    ::close(gate);
}

std::int64_t argument_of(const std::string& type) {
    const std::size_t at = type.find(':');
    return at == std::string::npos ? 0 : std::stoll(type.substr(at + 1));
}

/// By the message's type: "quick", "gate", "dead", "dead once" (until it is requeued), "bomb", "fail:2" (attempts),
/// "sleep:50" (ms). Of a "letterhead" the test is told how all of it arrived.
Outcome act(const Message& message, std::uint32_t attempt, std::uint32_t requeues = 0) {
    const std::string& type = message.type;
    if (type == "gate") wait_at_gate();
    if (type == "bomb") ::raise(SIGKILL);
    if (type.starts_with("sleep:")) {
        test::pause_for(std::chrono::milliseconds{argument_of(type)});
    }
    const bool is_to_die = type == "dead" || (type == "dead once" && requeues == 0);
    if (is_to_die) return Dead{"as it was asked to"};
    if (type.starts_with("fail:") && attempt <= argument_of(type))
        return Fail{"as it was asked to"};
    return Done{};
}

/// Everything of a message but its id, box, type and body.
std::string letterhead_of(const Message& message) {
    std::string text = message.source + "|" + message.content_type + "|" + message.tenant + "|" +
                       message.user + "|" + message.correlation_id + "|" + message.collapse_key;
    for (const auto& [name, value] : message.attributes) text.append("|" + name + "=" + value);
    return text;
}

Told told_of(const Message& message, const Context& context, const std::string& target,
             std::uint32_t attempt) {
    return {.kind = Kind::run,
            .instance = words.at("name"),
            .what = message.box,
            .target = target,
            .lane = message.lane,
            .number = std::stoll(message.body),
            .attempt = attempt,
            .partition = context.fence().partition,
            .message = waybill::to_string(message.id),
            .text = message.type == "letterhead" ? letterhead_of(message) : ""};
}

auto handler(const std::string& target) {
    return [target](const Message& message, Context& context) -> Outcome {
        Told told = told_of(message, context, target, context.attempt());
        tell(told);
        Outcome outcome = act(message, context.attempt(), context.requeues());
        told.kind = std::holds_alternative<Done>(outcome) ? Kind::well : Kind::failed;
        tell(told);
        return outcome;
    };
}

BatchOutcomes handle_batch(Batch batch, BatchContext& context) {
    BatchOutcomes outcomes;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        Told told = told_of(*batch[i], context, "batch", context.attempt_of(i));
        // How many came together.
        told.text = std::to_string(batch.size());
        tell(told);
        outcomes.emplace_back(act(*batch[i], context.attempt_of(i)));
        told.kind = Kind::well;
        tell(told);
    }
    return outcomes;
}

/// Its row must be there exactly once, however often it runs.
Outcome write_inline(const Message& message, Context& context, void* native) {
    Told told = told_of(message, context, "write", context.attempt());
    tell(told);
    const std::string statement =
        "insert into effect (message) values ('" + waybill::to_string(message.id) + "')";
    PGresult* const result = PQexec(static_cast<PGconn*>(native), statement.c_str());
    const bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (!is_done) throw std::runtime_error{PQerrorMessage(static_cast<PGconn*>(native))};
    Outcome outcome = act(message, context.attempt());
    told.kind = Kind::well;
    tell(told);
    return outcome;
}

std::vector<std::string> list_of(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in{text};
    for (std::string item; std::getline(in, item, ',');) all.push_back(item);
    return all;
}

void describe(Waybill& app) {
    const Backoff soon{.base = 20ms, .multiplier = 1.0, .cap = 20ms, .jitter = Jitter::none()};
    On often{.backoff = soon, .timeout = 10min};
    BoxOptions laned{.keep_done = forever};
    laned.partitions = static_cast<std::uint32_t>(number_of("partitions"));
    laned.concurrency = static_cast<std::uint32_t>(number_of("slots"));
    Box orders = app.inbox("orders", laned);
    for (const std::string& target : list_of(words.at("targets"))) {
        orders.on("*", target, handler(target), often);
    }
    if (words.at("more") == "1") {
        BoxOptions halting = laned;
        halting.on_dead = OnDead::halt;
        app.inbox("halting", halting).on("*", "work", handler("work"), often);
        BoxOptions exclusive = laned;
        exclusive.lanes = Lanes::exclusive;
        const Backoff late{.base = 1h, .multiplier = 1.0, .cap = 1h, .jitter = Jitter::none()};
        app.inbox("exclusive", exclusive).on("*", "work", handler("work"), {.backoff = late});
        app.inbox("batches", laned).on_batch("*", "batch", handle_batch, often);
    }
    BoxOptions free = laned;
    free.lanes = Lanes::none;
    app.inbox("books", free).on_inline("*", "write", write_inline, often);
}

void run() {
    const std::chrono::milliseconds lease{number_of("lease")};
    postgres::Options options;
    options.wake_ups = words.at("wake_ups") == "1";
    options.beat_deadline = lease * 3 / 10;
    Settings settings{.store = postgres::open(words.at("conninfo"), options),
                      .name = words.at("name")};
    settings.lease = lease;
    settings.beat = std::chrono::milliseconds{number_of("beat")};
    settings.shutdown_timeout = std::chrono::milliseconds{number_of("patience")};
    settings.sweep.interval = Duration{};
    Teller teller;
    Waybill app{settings};
    app.observe(teller);
    describe(app);
    app.run();
}

}  // namespace
}  // namespace waybill::fault

int main(int count, char** values) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    using waybill::fault::words;
    for (int i = 1; i < count; ++i) {
        const std::string word = values[i];
        const std::size_t equals = word.find('=');
        words[word.substr(0, equals)] = word.substr(equals + 1);
    }
    try {
        waybill::fault::run();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fault_child %s: %s\n", words["name"].c_str(), error.what());
        return 1;
    }
}
