#include "core/runtime/mailbox.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace waybill::runtime {

bool IdleWait::wait(Duration timeout) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, timeout, [this] { return answer_.has_value(); });
    return answer_.value_or(false);
}

void IdleWait::answer(bool idle) {
    const std::lock_guard lock{mutex_};
    answer_ = idle;
    changed_.notify_all();
}

template <class Write>
void Mailbox::post(Write write) {
    bool asleep = false;
    {
        const std::lock_guard lock{mutex_};
        write(letters_);
        asleep = std::exchange(asleep_, false);
    }
    if (asleep) arrived_.notify_one();
}

void Mailbox::complete(std::uint64_t number, DeliveryResults results) noexcept {
    post([&](Letters& letters) { letters.completed.push_back({number, std::move(results)}); });
}

void Mailbox::append(std::vector<engine::HandOver> messages) {
    post([&](Letters& letters) {
        if (letters.appended.size() + messages.size() > hand_overs_max_) {
            letters.wake = true;
        } else if (letters.appended.empty()) {
            letters.appended.swap(messages);
        } else {
            letters.appended.insert(letters.appended.end(),
                                    std::make_move_iterator(messages.begin()),
                                    std::make_move_iterator(messages.end()));
        }
    });
}

void Mailbox::beat(engine::BeatAnswer answer) {
    post([&](Letters& letters) { letters.beat = std::move(answer); });
}

void Mailbox::channel(engine::ChannelReply reply) {
    post([&](Letters& letters) { letters.channel = std::move(reply); });
}

void Mailbox::idle_wait(std::shared_ptr<IdleWait> wait) {
    post([&](Letters& letters) {
        if (closed_) {
            wait->answer(false);
        } else {
            letters.idle_waits.push_back(std::move(wait));
        }
    });
}

void Mailbox::wake() {
    post([](Letters& letters) { letters.wake = true; });
}

void Mailbox::stop() {
    post([](Letters& letters) { letters.stop = true; });
}

void Mailbox::ask() {
    post([](Letters& letters) { letters.ask = true; });
}

void Mailbox::close() {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    for (const auto& wait : letters_.idle_waits) wait->answer(false);
    letters_ = {};
}

void Mailbox::take(Letters& letters, LocalTime until, Clock& clock) {
    letters.completed.clear();
    letters.appended.clear();
    letters.idle_waits.clear();
    letters.beat.reset();
    letters.channel.reset();
    letters.wake = letters.stop = letters.ask = false;

    std::unique_lock lock{mutex_};
    if (letters_.empty()) {
        // An hour at most: wait_for adds to a clock of its own, which must not overflow.
        const LocalTime now = clock.now();
        const Duration left =
            until > now ? std::min<Duration>(until - now, std::chrono::hours{1}) : Duration{};
        if (left >
            Duration::zero()) {  // Waiting for no time at all still costs a trip to the kernel.
            asleep_ = true;
            arrived_.wait_for(lock, left, [this] { return !letters_.empty(); });
            asleep_ = false;
        }
    }
    std::swap(letters, letters_);
}

}  // namespace waybill::runtime
