#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fault/instances.hpp"
#include "fault/lane_book.hpp"
#include "support/pacing.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_server.hpp"
#include "waybill/postgres.hpp"
#include "waybill/waybill.hpp"

namespace waybill::fault {

using namespace std::chrono_literals;
using test::look_until;
using test::pause_for;
using test::steady_now;
using Seconds = std::chrono::duration<double>;

/// script/torture sets how long or how often.
inline int setting(const char* name, int usual) {
    const char* value = std::getenv(name);
    return value == nullptr ? usual : std::atoi(value);
}

using Client = test::PostgresClient;

/// A database of its own, instances as processes on it, and whoever publishes to them: the test itself.
class Fault : public testing::Test {
protected:
    Fault() : Fault(test::PostgresServer::instance().cluster()) {}
    explicit Fault(test::PostgresCluster& cluster)
        : cluster_(cluster), database_("fault_" + std::to_string(++made_)) {
        cluster_.create(database_);
        store_ = postgres::open(cluster_.conninfo(database_), patient());
        store_->migrate();
        cluster_.ask("create table effect (message uuid not null)", database_);
        const std::vector<BoxDeclaration> boxes{{"orders", box(8)}, {"books", box(8)}};
        store_->declare(boxes, {});
    }

    /// Nothing of ours is ever late.
    static postgres::Options patient() {
        postgres::Options options;
        options.deadline = options.beat_deadline = options.people_deadline = 1min;
        options.wake_ups = false;
        return options;
    }
    static BoxOptions box(std::uint32_t partitions) {
        BoxOptions options{.keep_done = forever};
        options.partitions = partitions;
        return options;
    }
    std::string conninfo() const { return cluster_.conninfo(database_); }
    Instance instance(const std::string& name) const {
        return {.name = name, .conninfo = conninfo()};
    }
    /// Each takes a share of the 16 partitions: whoever comes first would take everything, and keep it for a while. So nobody
    /// can take anything until all know of each other.
    void start_together(const std::vector<std::string>& names, Instance like) {
        Client holder{conninfo()};
        holder.run("begin; select from waybill.partition for update");
        for (const std::string& name : names) {
            like.name = name;
            instances_.start(like);
        }
        const auto all_are_here = [&] {
            return cluster_.ask("select count(*) from waybill.instance", database_) ==
                   std::to_string(names.size());
        };
        EXPECT_TRUE(look_until(all_are_here, Instances::patience));
        holder.run("commit");
        ASSERT_TRUE(instances_.wait_for(event("scanned"), 16)) << heard_kinds();
    }

    /// An application that only appends, with a connection of its own.
    std::unique_ptr<Waybill> publisher(const std::string& conninfo) const {
        auto app = std::make_unique<Waybill>(
            Settings{.store = postgres::open(conninfo, {.wake_ups = true}), .name = "publisher"});
        app->inbox("orders", box(8));
        app->inbox("books", box(8));
        return app;
    }
    static Message order(int lane, int number, const std::string& type = "quick") {
        return {.box = "orders",
                .type = type,
                .body = std::to_string(number),
                .lane = "lane" + std::to_string(lane)};
    }
    static Message entry(int number, const std::string& type = "quick") {
        return {.box = "books", .type = type, .body = std::to_string(number)};
    }

    /// Until the store has no open work.
    bool wait_done(std::chrono::steady_clock::duration at_most = Instances::patience) {
        // What is done is not counted: after minutes of load there are millions of those.
        const auto is_done = [&] {
            return std::ranges::all_of(store_->boxes(),
                                       [](const BoxState& box) { return box.open == 0; });
        };
        const bool done = look_until(is_done, at_most);
        instances_.catch_up();
        return done;
    }
    std::uint64_t count(Filter::State state) { return store_->count({.state = state}); }
    /// Messages with another number of effects than one.
    std::string wrong_effects() const {
        return cluster_.ask(
            "select count(*) from waybill.message m join waybill.partition p on p.id = m.partition "
            "join waybill.box b on b.id = p.box "
            "where b.name = 'books' and "
            "(select count(*) from effect e where e.message = m.id) <> 1",
            database_);
    }
    std::string lane_problems() {
        LaneBook book;
        book.hear(instances_.heard());
        return book.problems();
    }
    /// What changed hands, and when: for whoever wonders.
    void print_events() {
        const auto all = instances_.heard();
        for (const auto& [told, at] : all) {
            if (told.what == "started" || told.what == "done" || told.what == "finished") continue;
            std::printf("%8.3f %s", Seconds{at - all.front().at}.count(), told.line().c_str());
        }
    }
    std::string heard_kinds() {
        std::map<std::string, int> kinds;
        for (const auto& heard : instances_.heard()) {
            if (heard.told.kind == Told::Kind::event) {
                ++kinds[heard.told.instance + "." + heard.told.what];
            }
        }
        std::string text;
        for (const auto& [kind, count] : kinds) text += kind + "=" + std::to_string(count) + " ";
        return text;
    }

    test::PostgresCluster& cluster_;
    std::string database_;
    std::unique_ptr<postgres::PostgresStore> store_{};
    Instances instances_{};

private:
    static inline int made_ = 0;
};

/// Publishes one message after the other over some lanes, until it is told to stop. What the store did not
/// answer is asked again under its key, as a caller would.
class Load {
public:
    /// No lanes: entries, which are handled inline.
    static constexpr int inlined = 0;

    /// `lanes`: of orders. `first`: the number of its first message; each lane has every lanes-th of them.
    Load(Waybill& app, int lanes, std::chrono::microseconds pause = 1ms, int first = 0,
         std::string name = "")
        : name_(std::move(name)),
          next_(first),
          thread_([this, &app, lanes, pause](const std::stop_token& stop) {
              for (; !stop.stop_requested(); ++next_) {
                  if (!publish(app, lanes, stop)) return;
                  pause_for(pause);  // The rate of the load.
              }
          }) {}
    /// The number of the first message that was not acknowledged.
    int stop() {
        thread_.stop();
        thread_.join();
        return next_;
    }
    int published() const { return next_; }

private:
    bool publish(Waybill& app, int lanes, const std::stop_token& stop) {
        const int n = next_;
        Message message{.box = "books",
                        .type = "quick",
                        .body = std::to_string(n),
                        .dedup_key = name_ + "load " + std::to_string(n)};
        if (lanes != inlined) {
            message.box = "orders";
            message.lane = name_ + "lane" + std::to_string(n % lanes);
        }
        while (!stop.stop_requested()) {
            try {
                if (app.append(message).status != AppendResult::Status::unknown) return true;
            } catch (const StoreError&) {
                pause_for(20ms);  // As a caller would.
            }
        }
        return false;
    }

    const std::string name_;
    std::atomic<int> next_;
    test::Background thread_;
};

}  // namespace waybill::fault
