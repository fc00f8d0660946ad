#include "journal_watch.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "waybill/store.hpp"

namespace waybill::sqlite {

JournalWatch::JournalWatch(const std::string& database)
    : watch_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      pokes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const std::string journal = database + "-wal";
    if (watch_ >= 0 && ::inotify_add_watch(watch_, journal.c_str(), IN_MODIFY) < 0) {
        ::close(watch_);
        watch_ = -1;
    }
    if (pokes_ < 0) {
        const int error = errno;
        if (watch_ >= 0) ::close(watch_);
        throw StoreError{Reaction::give_up, std::string{"sqlite store: no event descriptor: "} +
                                                std::strerror(error) +
                                                "; raise the limit of open files"};
    }
}

JournalWatch::~JournalWatch() {
    if (watch_ >= 0) ::close(watch_);
    ::close(pokes_);
}

void JournalWatch::wait(Duration at_most) {
    wait_for(true, at_most);
}

void JournalWatch::pause(Duration at_most) {
    wait_for(false, at_most);
}

void JournalWatch::wait_for(bool writes, Duration at_most) {
    std::array<pollfd, 2> ends{{{pokes_, POLLIN, 0}, {watch_, POLLIN, 0}}};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at_most);
    const timespec limit{static_cast<std::time_t>(seconds.count()),
                         static_cast<long>(std::chrono::nanoseconds{at_most - seconds}.count())};
    ::ppoll(ends.data(), writes && !is_deaf() ? 2 : 1, &limit, nullptr);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t ignored = ::read(pokes_, &count, sizeof count);
}

bool JournalWatch::was_written() {
    if (is_deaf()) return false;
    bool any = false;
    alignas(inotify_event) std::array<char, 4096> events{};
    while (::read(watch_, events.data(), events.size()) > 0) any = true;
    return any;
}

void JournalWatch::poke() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(pokes_, &one, sizeof one);
}

}  // namespace waybill::sqlite
