#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/system_random.hpp"
#include "raw_postgres.hpp"
#include "waybill/postgres.hpp"
#include "waybill/system.hpp"
#include "waybill/waybill.hpp"

/// What the PostgreSQL benchmarks share: a schema of their own, messages, and instances that are processes.
namespace waybill::bench {

constexpr std::size_t kBodyBytes = 400;
constexpr std::size_t kLanes = 1'000;
/// Producers wait when so many are open: a steady flow, not a race to fill the tables.
constexpr std::uint64_t kBacklog = 10'000;

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime now() {
    return std::chrono::steady_clock::now();
}
inline double seconds_since(SteadyTime start) {
    return std::chrono::duration<double>(now() - start).count();
}

inline std::string conninfo() {
    const char* const given = std::getenv("WAYBILL_POSTGRES");
    if (given == nullptr) throw std::runtime_error("WAYBILL_POSTGRES is not set: run script/bench");
    return given;
}

/// An empty store of its own, gone at the end.
class Schema {
public:
    Schema() : name_("bench_" + std::to_string(++made_)) {
        const auto store = open();
        store->migrate();
        const BoxDeclaration box{"bench", {}};
        store->declare({&box, 1}, {});
        // So that no measurement pays for the one before it.
        RawPostgres{conninfo(), name_}.run("checkpoint");
    }
    ~Schema() {
        RawPostgres raw{conninfo(), name_};
        raw.run("set client_min_messages = error; drop schema " + name_ + " cascade");
    }
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    const std::string& name() const { return name_; }
    std::unique_ptr<postgres::PostgresStore> open() const {
        return postgres::open(conninfo(), {.schema = name_});
    }

private:
    static inline int made_ = 0;
    std::string name_;
};

/// Bytes of WAL since it was made.
class Wal {
public:
    explicit Wal(const Schema& schema) : raw_(conninfo(), schema.name()), begin_(position()) {}
    double bytes() {
        return std::stod(
            raw_.value("select pg_current_wal_insert_lsn() - '" + begin_ + "'::pg_lsn"));
    }

private:
    std::string position() { return raw_.value("select pg_current_wal_insert_lsn()"); }
    RawPostgres raw_;
    std::string begin_;
};

inline Message message(std::uint64_t number, bool laned) {
    Message made{.box = "bench", .type = "order.placed", .body = std::string(kBodyBytes, 'x')};
    if (laned) made.lane = "customer " + std::to_string(number % kLanes);
    return made;
}

inline std::vector<Message> messages(std::uint64_t first, std::size_t count, bool laned) {
    std::vector<Message> made;
    made.reserve(count);
    for (std::size_t i = 0; i < count; ++i) made.push_back(message(first + i, laned));
    return made;
}

/// Raw rows need their ids from us.
inline std::vector<Message> raw_messages(std::uint64_t first, std::size_t count, bool laned) {
    std::vector<Message> made = messages(first, count, laned);
    for (Message& one : made) one.id = uuid7(system_clock().wall(), thread_random());
    return made;
}

struct Load {
    std::uint64_t count = 0;
    int threads = 1;
    /// Messages per call, and per commit of the raw side unless many threads share one.
    std::size_t per_call = 1;
    bool laned = false;
    /// Processes that each append their share, and handle what they own.
    int instances = 1;
    /// Laned ones are handled in order.
    bool strict = true;
};

inline BoxOptions box_options(bool strict) {
    return {.lanes = strict ? Lanes::strict : Lanes::none, .concurrency = 1'024};
}

inline void append_some(Waybill& app, const Load& load, std::uint64_t first) {
    if (load.per_call == 1) {
        app.append(message(first, load.laned));
    } else {
        app.append(messages(first, load.per_call, load.laned));
    }
}

/// Calls `append(first)` from all threads, until `count` messages are through.
template <class Append>
void produce(const Load& load, std::uint64_t count, Append append) {
    const std::uint64_t share = count / static_cast<std::uint64_t>(load.threads);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < load.threads; ++thread) {
        threads.emplace_back([&, first = share * static_cast<std::uint64_t>(thread)] {
            for (std::uint64_t i = 0; i < share; i += load.per_call) append(first + i);
        });
    }
}

/// What processes tell each other.
struct Board {
    std::atomic<std::uint64_t> finished{0};
    std::atomic<std::uint64_t> appended{0};
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::atomic<bool> stop{false};
    /// Microseconds from append to handler, of whoever measures it.
    std::atomic<std::uint32_t> samples{0};
    double sample[10'000] = {};

    void finish_one() {
        if ((finished.fetch_add(1) + 1) % kPulse != 0) return;
        ++pulse;
        ::syscall(SYS_futex, &pulse, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr,
                  0);
    }
    /// Nobody asks again and again: three processes that look every 100 µs took a seventh of both processors from what is
    /// measured.
    void wait_finished(std::uint64_t count) {
        for (;;) {
            const std::uint32_t seen = pulse;
            if (finished >= count || stop) return;
            // Of the last ones, and of an end, nobody tells.
            constexpr timespec kLongest{.tv_sec = 0, .tv_nsec = 2'000'000};
            ::syscall(SYS_futex, &pulse, FUTEX_WAIT, seen, &kLongest, nullptr, 0);
        }
    }
    static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }

private:
    static constexpr std::uint64_t kPulse = 200;
    /// Changes when so many more are finished. The kernel compares it.
    std::atomic<std::uint32_t> pulse{0};
    static_assert(sizeof pulse == sizeof(std::uint32_t));
};

/// In memory that a forked process shares.
class SharedBoard {
public:
    SharedBoard() {
        void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
        board_ = new (memory) Board;
    }
    ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
    SharedBoard(const SharedBoard&) = delete;
    SharedBoard& operator=(const SharedBoard&) = delete;
    Board& operator*() const { return *board_; }
    Board* operator->() const { return board_; }

private:
    Board* board_;
};

/// Counts finished messages, for all processes together.
class Finished final : public Observer {
public:
    explicit Finished(Board& board) : board_(board) {}
    void on_event(const Event& event) noexcept override {
        if (event.kind != Event::Kind::finished) return;
        board_.finish_one();
    }

private:
    Board& board_;
};

/// A process that runs `body`. Made while this one has no threads.
class Process {
public:
    explicit Process(const std::function<void()>& body) : id_(::fork()) {
        if (id_ != 0) return;
        int status = 0;
        try {
            body();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "instance: %s\n", error.what());
            status = 1;
        }
        ::_exit(status);
    }
    ~Process() { end(); }
    Process(Process&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
    Process& operator=(Process&&) = delete;

    void kill() {
        ::kill(id_, SIGKILL);
        end();
    }
    void end() {
        if (id_ > 0) ::waitpid(id_, nullptr, 0);
        id_ = -1;
    }

private:
    pid_t id_;
};

inline double at(std::vector<double>& samples, double part) {
    std::ranges::sort(samples);
    return samples[static_cast<std::size_t>(part * static_cast<double>(samples.size() - 1))];
}

}  // namespace waybill::bench
