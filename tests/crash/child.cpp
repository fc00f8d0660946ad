#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <sqlite3.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "crash/log_line.hpp"
#include "crash/trap_vfs.hpp"
#include "crash/workload.hpp"
#include "support/background.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/sqlite/guard.hpp"
#include "waybill/sqlite/publish.hpp"
#include "waybill/system.hpp"
#include "waybill/waybill.hpp"

/// The process that is killed: an application under load on one SQLite file, which tells its parent
/// what it was promised and what it did. Its parent chooses when it dies.
namespace waybill::crash {
namespace {

using namespace std::chrono_literals;
using Kind = Line::Kind;

/// The pipe to the parent.
constexpr int kTold = 3;

struct Arguments {
    std::string file{};
    int round = 0;
    /// Messages per producer; 0 only drains what is there.
    int messages = 0;
    /// Quiet time since the last round, by the store's clock.
    std::chrono::minutes later{0};
    Trap trap{};
    /// Messages that kill the process when they are handled.
    int bombs = 0;
    /// Acknowledges what the disk has not confirmed: the parent must notice.
    bool relaxed = false;
};

/// One write per line: a line is told completely or not at all.
void tell(const Line& line) {
    const std::string text = line.text();
    if (::write(kTold, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(3);
}

class LaterClock final : public Clock {
public:
    explicit LaterClock(Duration shift) : shift_(shift) {}
    LocalTime now() override { return system_clock().now(); }
    StoreTime wall() override { return system_clock().wall() + shift_; }

private:
    Duration shift_;
};

class Teller final : public Observer {
public:
    void on_event(const Event& event) noexcept override {
        if (event.kind != Event::Kind::done && event.kind != Event::Kind::died) return;
        tell({.kind = event.kind == Event::Kind::done ? Kind::done : Kind::dead,
              .message = to_string(event.message),
              .target = std::string{event.target}});
    }
};

/// Says what it does before it does it, and what came of it before anyone can know.
auto handler(const std::string& target) {
    return [target](const Message& message, Context& context) -> Outcome {
        const Body body = Body::parse(message.body);
        Line line{Kind::run, to_string(message.id), target, message.body,
                  std::to_string(context.attempt())};
        tell(line);
        if (is_poison(body)) {
            line.kind = Kind::died;
            tell(line);
            return Dead{"poison"};
        }
        const bool fails = fails_once(body) && context.attempt() == 1;
        line.kind = fails ? Kind::failed : Kind::well;
        tell(line);
        if (fails) throw std::runtime_error{"once"};
        return Done{};
    };
}

BatchOutcomes index_all(Batch batch, BatchContext& context) {
    BatchOutcomes outcomes;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const bool fails = fails_once(Body::parse(batch[i]->body)) && context.attempt_of(i) == 1;
        Line line{Kind::run, to_string(batch[i]->id), "index", batch[i]->body,
                  std::to_string(context.attempt_of(i))};
        tell(line);
        line.kind = fails ? Kind::failed : Kind::well;
        tell(line);
        outcomes.emplace_back(fails ? Outcome{Fail{"once"}} : Outcome{Done{}});
        // What comes behind a failure in a lane has not happened: leave it.
        if (fails) break;
    }
    return outcomes;
}

void append(Waybill& app, std::vector<Message> messages) {
    const std::vector<Message> sent = messages;
    const std::vector<AppendResult> results = app.append(std::move(messages));
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].status == AppendResult::Status::unknown) continue;
        tell({Kind::acknowledged, to_string(results[i].id), sent[i].box, sent[i].body,
              sent[i].dedup_key});
    }
}

/// Sends a mail, once however often it runs, and so is in the middle of something for a while.
auto ring(Waybill& app) {
    return [&app](const Message& message, Context& context) {
        Line line{Kind::run, to_string(message.id), "ring", message.body,
                  std::to_string(context.attempt())};
        tell(line);
        Body body = Body::parse(message.body);
        body.box = "mail";
        append(app, {{.box = "mail",
                      .type = "t",
                      .body = body.text(),
                      .dedup_key = "ring/" + message.body}});
        line.kind = Kind::well;
        tell(line);
    };
}

/// The application's own connection to the file.
class Own {
public:
    explicit Own(const std::string& file) {
        if (sqlite3_open_v2(file.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr) !=
            SQLITE_OK) {
            throw std::runtime_error{"cannot open " + file};
        }
        sqlite3_busy_timeout(database_, 30'000);
    }
    ~Own() { sqlite3_close(database_); }
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;
    sqlite3* get() { return database_; }

private:
    sqlite3* database_ = nullptr;
};

void execute(sqlite3* database, const std::string& sql) {
    if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        throw std::runtime_error{sqlite3_errmsg(database)};
    }
}

void add_row(sqlite3* database, const std::string& box, const Uuid& message) {
    execute(database,
            "insert into " + table_of(box) + "(message) values('" + to_string(message) + "')");
}

/// Its effect must be there exactly once, however often it runs.
void write_inline(const Message& message, Context& context, void* native) {
    tell({Kind::run, to_string(message.id), "write", message.body,
          std::to_string(context.attempt())});
    add_row(static_cast<sqlite3*>(native), "books", message.id);
    tell({Kind::well, to_string(message.id), "write", message.body, ""});
}

/// The same, through a connection of its own and a mark.
auto consume_guarded(const std::string& file, sqlite::Guard& guard) {
    return [&file, &guard](const Message& message, Context& context) {
        tell({Kind::run, to_string(message.id), "guard", message.body,
              std::to_string(context.attempt())});
        Own own{file};
        guard.run(own.get(), message,
                  [&](sqlite3* database) { add_row(database, "guarded", message.id); });
        tell({Kind::well, to_string(message.id), "guard", message.body, ""});
    };
}

/// A row of the business and its message, or neither.
void publish(Own& own, const Body& body) {
    execute(own.get(), "begin immediate");
    const AppendResult result =
        sqlite::publish(own.get(), {.box = body.box, .type = "t", .body = body.text()});
    add_row(own.get(), body.box, result.id);
    execute(own.get(), "commit");
    tell({Kind::acknowledged, to_string(result.id), body.box, body.text(), ""});
}

void describe(Waybill& app, const std::string& file, sqlite::Guard& guard) {
    const Backoff soon{.base = 10ms, .multiplier = 1.0, .cap = 10ms, .jitter = Jitter::none()};
    const On often{.backoff = soon};
    const BoxOptions free{.lanes = Lanes::none, .keep_done = forever};
    const BoxOptions laned{.keep_done = forever};
    On after_bill = often;
    after_bill.after = "bill";
    On small = often;
    small.batch_max = 5;
    app.inbox("orders", laned)
        .on("*", "bill", handler("bill"), often)
        .on("*", "receipt", handler("receipt"), after_bill);
    app.inbox("files", laned).on_batch("*", "index", index_all, small);
    app.inbox("mail", free).on("*", "send", handler("send"), often);
    app.inbox("later", free).on("*", "ring", ring(app), often);
    app.inbox("bombs", free).on("*", "explode", [](const Message& message, Context& context) {
        tell({Kind::run, to_string(message.id), "explode", message.body,
              std::to_string(context.attempt())});
        ::raise(SIGKILL);
    });
    app.inbox("books", free).on_inline("*", "write", write_inline, often);
    app.inbox("guarded", free).on("*", "guard", consume_guarded(file, guard), often);
    app.inbox("published", free).on("*", "tell", handler("tell"), often);
}

/// Lanes belong to one producer each: within a lane the order of appends is the order of numbers.
void produce(Waybill& app, const Arguments& arguments, int producer) {
    LaterClock clock{arguments.later};
    Own own{arguments.file};
    for (int n = 0; n < arguments.messages; ++n) {
        const auto make = [&](const std::string& box, int lane, int number) {
            const Body body{box, lane, arguments.round, number};
            Message message{.box = box, .type = "t", .body = body.text()};
            if (last_of_lane(box)) message.lane = box + std::to_string(lane);
            return message;
        };
        const int lane = producer * 10 + n % 3;
        switch (n % 7) {
            case 0: append(app, {make("orders", lane, n)}); break;
            case 1: {
                std::vector<Message> batch;
                for (int i = 0; i < 4; ++i) batch.push_back(make("files", lane, n * 10 + i));
                append(app, std::move(batch));
                break;
            }
            case 2: {
                // Every producer sends the same mail.
                Message message = make("mail", 0, n);
                message.dedup_key = message.body;
                append(app, {std::move(message)});
                break;
            }
            case 3: {
                Message message = make("later", producer, n);
                message.not_before = clock.wall() + std::chrono::milliseconds{n};
                append(app, {std::move(message)});
                break;
            }
            case 4: append(app, {make("books", producer, n)}); break;
            case 5: append(app, {make("guarded", producer, n)}); break;
            default: publish(own, {"published", producer, arguments.round, n});
        }
    }
}

void run(const Arguments& arguments) {
    LaterClock clock{arguments.later};
    Teller teller;
    // Checkpoints as often as may be: they are to be crashed in, too.
    const sqlite::Options options{
        .synchronous = arguments.relaxed ? sqlite::Synchronous::normal : sqlite::Synchronous::full,
        .checkpoint_pages = 100};
    std::shared_ptr<sqlite::SqliteStore> store = sqlite::open(arguments.file, clock, options);
    Settings settings{.store = store, .name = "child"};
    settings.relaxed_durability = arguments.relaxed;
    Waybill app{settings};
    app.observe(teller);
    sqlite::Guard guard{{.consumer = "child"}};
    describe(app, arguments.file, guard);
    store->migrate();
    for (const char* table : tables) {
        execute(Own{arguments.file}.get(),
                std::string{"create table if not exists "} + table + "(message text not null)");
    }
    for (int n = 0; n < arguments.bombs; ++n) {
        const Body body{"bombs", 0, arguments.round, n};
        append(app, {{.box = "bombs", .type = "t", .body = body.text()}});
    }
    app.start();
    if (arguments.messages > 0) {
        test::Background second{[&](std::stop_token) { produce(app, arguments, 1); }};
        test::Background third{[&](std::stop_token) { produce(app, arguments, 2); }};
        produce(app, arguments, 3);
    }
    if (!app.wait_done(5min)) throw std::runtime_error{"not done in five minutes"};
    tell({.kind = Kind::idle});
}

Arguments parse(int count, char** values) {
    const auto number = [&](int i) { return std::stoll(values[i]); };
    if (count != 10) {
        throw std::runtime_error{"file round messages later trap at seed bombs relaxed"};
    }
    Arguments arguments{.file = values[1]};
    arguments.round = static_cast<int>(number(2));
    arguments.messages = static_cast<int>(number(3));
    arguments.later = std::chrono::minutes{number(4)};
    arguments.trap = {static_cast<Trap::Kind>(number(5)), static_cast<std::uint64_t>(number(6)),
                      static_cast<std::uint64_t>(number(7))};
    arguments.bombs = static_cast<int>(number(8));
    arguments.relaxed = number(9) != 0;
    return arguments;
}

}  // namespace
}  // namespace waybill::crash

int main(int count, char** values) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        const auto arguments = waybill::crash::parse(count, values);
        if (arguments.trap.kind != waybill::crash::Trap::Kind::none) {
            waybill::crash::set_trap(arguments.trap);
        }
        waybill::crash::run(arguments);
        waybill::crash::write_all_back();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "crash_child: %s\n", error.what());
        return 1;
    }
}
