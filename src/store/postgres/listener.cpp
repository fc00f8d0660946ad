#include "listener.hpp"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/runtime/system_random.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {
namespace {

constexpr Duration kNotifyPause = std::chrono::milliseconds{5};
/// Where so much comes in a pause as this, the next one is longer: each telling wakes a server's process and a thread of
/// every instance, and all of them are at work, and look this often without being told.
constexpr std::uint32_t kMany = 64;
constexpr Duration kPauseOfMany = std::chrono::milliseconds{20};
/// While the server cannot be reached: up to this long, so that not all come back at once.
constexpr int kRetryMs = 1'000;
/// A connection that says nothing is asked whether it is there: one that is half open is noticed within this
/// and the deadline of the answer.
constexpr int kQuietMs = 5'000;
constexpr Duration kProbe = std::chrono::seconds{4};
constexpr const char* kPooled =
    "the connection goes through a pooler, which passes none on; instances look now and then";

void poke(int handle) {
    const std::uint64_t one = 1;
    // It can only fail when it is full of pokes.
    [[maybe_unused]] const auto written = ::write(handle, &one, sizeof one);
}

}  // namespace

Listener::Listener(Address address, bool is_wanted)
    : address_(std::move(address)),
      is_wanted_(is_wanted),
      poke_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Listener::~Listener() {
    is_stopping_ = true;
    poke(poke_);
    // Outside the mutex: the thread that ends may be waking somebody, and needs it for that.
    thread_.reset();
    ::close(poke_);
}

void Listener::start() {
    const std::lock_guard lock{mutex_};
    if (!is_wanted_ || thread_) return;
    thread_.emplace("waybill listen", [this](Start) { run(); });
    thread_->post({});
}

void Listener::on_wake(std::function<void()> wake) {
    bool listens = false;
    {
        const std::lock_guard lock{mutex_};
        wake_ = std::move(wake);
        listens = static_cast<bool>(wake_);
    }
    if (listens) start();
}

void Listener::announce(std::uint32_t messages) {
    if (news_.fetch_add(messages) > 0) return;
    start();
    poke(poke_);
}

void Listener::wake() {
    const std::lock_guard lock{mutex_};
    if (wake_) wake_();
}

std::string Listener::trouble() const {
    const std::lock_guard lock{mutex_};
    return trouble_;
}

std::optional<std::int32_t> Listener::backend() const {
    if (!is_wanted_) return std::nullopt;
    return backend_.load();
}

void Listener::run() {
    bool is_first = true;
    do {
        try {
            Database db{address_};
            // A pooler keeps no session for whoever listens; it passes on what we tell.
            if (!db.is_pooled()) {
                db.script("listen \"" + address_.schema + "\"", "listen", Effect::none);
            }
            {
                const std::lock_guard lock{mutex_};
                trouble_ = db.is_pooled() ? kPooled : "";
            }
            backend_ = db.is_pooled() ? 0 : PQbackendPID(db.handle());
            if (!std::exchange(is_first, false)) wake();
            serve(db);
        } catch (const StoreError& error) {
            backend_ = 0;
            {
                const std::lock_guard lock{mutex_};
                trouble_ = error.what();
            }
            rest(-1, kRetryMs / 2 + static_cast<int>(thread_random().next() % (kRetryMs / 2)));
        }
    } while (!is_stopping_);
}

void Listener::serve(Database& db) {
    LocalTime next_notify = system_clock().now();
    // The last news is still told.
    while (!is_stopping_ || news_ > 0) {
        int patience_ms = kQuietMs;
        if (news_ > 0) {
            const Duration left = next_notify - system_clock().now();
            if (left <= Duration{} || is_stopping_) {
                // Before it is sent: what comes meanwhile is told by the next one.
                const std::uint32_t told = news_.exchange(0);
                // It has a transaction of its own, which nobody needs on the disk: a hint that is lost costs a poll.
                db.script("set local synchronous_commit = off; notify \"" + address_.schema + "\"",
                          "notify", Effect::none);
                next_notify = system_clock().now() + (told < kMany ? kNotifyPause : kPauseOfMany);
            } else {
                patience_ms =
                    static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
            }
        }
        hear(db);
        if (is_stopping_) continue;
        if (!rest(PQsocket(db.handle()), patience_ms) && patience_ms == kQuietMs) probe(db);
    }
}

void Listener::hear(Database& db) {
    if (!db.is_usable()) {
        throw StoreError{Reaction::reconnect, "the connection for wake-ups was lost"};
    }
    PQconsumeInput(db.handle());
    bool is_news = false;
    while (PGnotify* const told = PQnotifies(db.handle())) {
        // What was committed here was handed over here.
        is_news = is_news || told->be_pid != PQbackendPID(db.handle());
        PQfreemem(told);
    }
    if (is_news) wake();
}

void Listener::probe(Database& db) {
    db.start_call(std::min(kProbe, address_.deadline));
    db.script(";", "probe");
    db.end_call();
}

bool Listener::rest(int socket, int patience_ms) {
    pollfd both[2] = {{poke_, POLLIN, 0}, {socket, POLLIN, 0}};
    const bool is_news = ::poll(both, socket < 0 ? 1 : 2, patience_ms) != 0;
    std::uint64_t pokes = 0;
    [[maybe_unused]] const auto read = ::read(poke_, &pokes, sizeof pokes);
    return is_news;
}

}  // namespace waybill::postgres
