#include "core/runtime/signals.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/assert.hpp"
#include "waybill/problems.hpp"

namespace waybill::runtime {
namespace {

/// The one who waits; a signal handler can know nothing but a global. Minus one: nobody.
std::atomic<int> signalled{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void ring(int descriptor) {
    const std::uint64_t one = 1;
    if (::write(descriptor, &one, sizeof one) < 0) {
        // Full: it has been rung already.
    }
}

extern "C" void on_stop_signal(int) {
    const int before = errno;
    const int descriptor = signalled.load();
    if (descriptor >= 0) ring(descriptor);
    errno = before;
}

}  // namespace

struct StopSignals::Former {
    struct sigaction term {};
    struct sigaction interrupt {};
    int descriptor = -1;
};

StopSignals::StopSignals() : former_(new Former) {
    former_->descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    WAYBILL_ASSERT(former_->descriptor >= 0);
    int nobody = -1;
    if (!signalled.compare_exchange_strong(nobody, former_->descriptor)) {
        ::close(former_->descriptor);
        delete former_;
        throw ConfigError{
            {"run() is already waiting for signals in this process; start the others "
             "with start() and stop()"}};
    }
    struct sigaction action {};
    action.sa_handler = &on_stop_signal;
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGTERM, &action, &former_->term);
    ::sigaction(SIGINT, &action, &former_->interrupt);
}

StopSignals::~StopSignals() {
    ::sigaction(SIGTERM, &former_->term, nullptr);
    ::sigaction(SIGINT, &former_->interrupt, nullptr);
    signalled.store(-1);
    ::close(former_->descriptor);
    delete former_;
}

void StopSignals::wait() {
    pollfd wanted{.fd = former_->descriptor, .events = POLLIN, .revents = 0};
    while (::poll(&wanted, 1, -1) < 0 && errno == EINTR) {
    }
}

void StopSignals::interrupt() {
    ring(former_->descriptor);
}

}  // namespace waybill::runtime
