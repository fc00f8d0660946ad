#include "deliver/secret_search.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/runtime/thread_name.hpp"
#include "waybill/system.hpp"

namespace waybill::deliver {
namespace {

/// Whoever was told to come back has come back by then.
constexpr Duration kLeftBehindFor = std::chrono::seconds{5};  ///< after the time that was told

SecretSearch::Answer answer_of(const KnownSecret& secret) {
    if (!secret.value) return {SecretSearch::Answer::Kind::none, {}};
    return {SecretSearch::Answer::Kind::found, *secret.value};
}

}  // namespace

SecretSearch::SecretSearch(Find find, Keyring& keyring, Clock& clock, Duration patience)
    : find_(std::move(find)), keyring_(keyring), clock_(clock), patience_(patience) {
    for (std::size_t n = 0; n < side_by_side; ++n) threads_.emplace_back([this] { search(); });
    threads_.emplace_back([this] { watch_patience(); });
}

SecretSearch::~SecretSearch() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    queued_.notify_all();
    asked_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void SecretSearch::ask(const std::string& tenant, Then then) {
    const LocalTime now = system_clock().now();
    std::optional<Answer> answer;
    {
        const std::lock_guard lock{mutex_};
        answer = answer_now(tenant, now);
        if (!answer) {
            const auto [search, is_new] = searches_.try_emplace(tenant);
            if (is_new) {
                search->second.patient_until = later(now, patience_);
                queue_.push_back(tenant);
            }
            search->second.waiting.push_back(std::move(then));
        }
    }
    if (answer) return then(*answer);
    queued_.notify_one();
    asked_.notify_one();
}

Duration SecretSearch::comes_back_after(const Search& search, LocalTime now) {
    return std::clamp(now - search.patient_until, come_back_least, come_back_most);
}

SecretSearch::Answer SecretSearch::late(const Search& search, LocalTime now) {
    return {Answer::Kind::late, {}, comes_back_after(search, now)};
}

/// Nothing: it has to be waited for.
std::optional<SecretSearch::Answer> SecretSearch::answer_now(const std::string& tenant,
                                                             LocalTime now) {
    // Since whoever asks has looked.
    if (const auto known = keyring_.find(tenant, clock_.now())) return answer_of(*known);
    const auto left = left_behind_.find(tenant);
    if (left != left_behind_.end() && now < left->second.until) return left->second.answer;
    const auto search = searches_.find(tenant);
    if (search == searches_.end()) {
        if (searches_.size() < waiting_most) return std::nullopt;
        // His turn is not before that of whoever is next.
        return late(searches_.at(queue_.front()), now);
    }
    if (now < search->second.patient_until) return std::nullopt;
    search->second.was_late = true;
    return late(search->second, now);
}

SecretSearch::Answer SecretSearch::look_up(const std::string& tenant) const {
    try {
        return answer_of({find_(tenant)});
    } catch (const std::exception& error) {
        return {Answer::Kind::failed, error.what()};
    } catch (...) {
        return {Answer::Kind::failed, "it threw something that is no std::exception"};
    }
}

void SecretSearch::keep(const std::string& tenant, const Answer& answer, const Search& over) {
    if (answer.kind == Answer::Kind::found) keyring_.put(tenant, {answer.text}, clock_.now());
    if (answer.kind == Answer::Kind::none) keyring_.put(tenant, {}, clock_.now());
    if (!over.was_late) return;
    const LocalTime now = system_clock().now();
    std::erase_if(left_behind_, [&](const auto& one) { return now >= one.second.until; });
    const LocalTime until = later(now, comes_back_after(over, now) + kLeftBehindFor);
    left_behind_.insert_or_assign(tenant, LeftBehind{answer, until});
}

void SecretSearch::search() {
    runtime::name_this_thread("waybill secrets");
    std::unique_lock lock{mutex_};
    for (;;) {
        queued_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (stopping_) return;
        const std::string tenant = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        const Answer answer = look_up(tenant);
        lock.lock();
        const Search over = std::move(searches_.extract(tenant).mapped());
        keep(tenant, answer, over);
        if (stopping_) return;
        lock.unlock();
        for (const Then& then : over.waiting) then(answer);
        lock.lock();
    }
}

/// On a thread that never looks up anything: when all others do, somebody still has to say that it takes long.
void SecretSearch::watch_patience() {
    runtime::name_this_thread("waybill patience");
    std::unique_lock lock{mutex_};
    while (!stopping_) {
        const LocalTime now = system_clock().now();
        if (const auto all = impatient(now); !all.empty()) {
            lock.unlock();
            for (const auto& [then, answer] : all) then(answer);
            lock.lock();
            continue;
        }
        LocalTime next = local_never;
        for (const auto& [tenant, search] : searches_) {
            if (!search.waiting.empty()) next = std::min(next, search.patient_until);
        }
        if (next == local_never) {
            asked_.wait(lock);
        } else {
            asked_.wait_for(lock, next - now);
        }
    }
}

std::vector<std::pair<SecretSearch::Then, SecretSearch::Answer>> SecretSearch::impatient(
    LocalTime now) {
    std::vector<std::pair<Then, Answer>> all;
    for (auto& [tenant, search] : searches_) {
        if (now < search.patient_until || search.waiting.empty()) continue;
        search.was_late = true;
        for (Then& then : search.waiting) all.emplace_back(std::move(then), late(search, now));
        search.waiting.clear();
    }
    return all;
}

}  // namespace waybill::deliver
