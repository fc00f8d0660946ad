#include "core/runtime/handler_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_set>
#include <utility>

#include "core/runtime/thread_name.hpp"

namespace waybill::runtime {
namespace {

constexpr Duration kGrowthPause = std::chrono::milliseconds{1};
constexpr Duration kLookAgain = std::chrono::milliseconds{100};
/// How long the destructor waits for handlers that are still running.
constexpr Duration kGrace = std::chrono::milliseconds{100};

/// Jobs that came together; workers claim them one by one.
struct Heap {
    Heap(std::shared_ptr<HandlerBody> the_body, std::vector<Job> the_jobs)
        : body(std::move(the_body)), jobs(std::move(the_jobs)) {
        numbers.reserve(jobs.size());
        for (const Job& job : jobs) numbers.push_back(job.delivery.number);
    }
    std::shared_ptr<HandlerBody> body;
    /// A job belongs to who claimed it; the numbers may be read by anyone.
    std::vector<Job> jobs;
    std::vector<std::uint64_t> numbers;
    std::atomic<std::size_t> next{0};

    /// Nobody will claim them: dropping a completion answers "released".
    void release_rest() {
        for (std::size_t i = next.fetch_add(1); i < jobs.size(); i = next.fetch_add(1)) {
            const Job released = std::move(jobs[i]);
        }
    }
    std::size_t claimed() const {
        return std::min(next.load(std::memory_order_relaxed), jobs.size());
    }
};

}  // namespace

struct HandlerPool::Worker {
    std::mutex mutex;  ///< guards everything but `thread`
    /// 0: idle.
    std::uint64_t number = 0;
    LocalTime deadline = local_never;
    bool abandoned = false;
    bool finished = false;
    /// Used by job after job until it is signalled once.
    std::stop_source stop;
    std::thread thread;
};

struct HandlerPool::State {
    explicit State(Clock& the_clock) : clock(the_clock) {}
    Clock& clock;
    std::atomic<bool> stopping{false};
    std::atomic<bool> any_cancelled{false};
    std::atomic<std::size_t> outstanding{0};

    std::mutex mutex;  ///< guards everything below
    std::condition_variable work;
    std::condition_variable ended;
    std::deque<std::shared_ptr<Heap>> heaps;
    /// Claims in heaps that are used up.
    std::uint64_t claims_before = 0;
    std::size_t idle = 0;
    std::size_t alive = 0;
    /// Cancelled before a worker took them.
    std::unordered_set<std::uint64_t> cancelled;

    std::shared_ptr<Heap> take();
    void drop_used_up();
    std::uint64_t claims() const;
    std::size_t waiting() const;
    void cancel_waiting(std::span<const std::uint64_t> numbers);
    bool was_cancelled(std::uint64_t number);
    static void work_until_stopped(std::shared_ptr<State> state, std::shared_ptr<Worker> worker);
    void run(Worker& worker, HandlerBody& body, Job job);
};

void HandlerPool::State::drop_used_up() {
    while (!heaps.empty() && heaps.front()->claimed() == heaps.front()->jobs.size()) {
        claims_before += heaps.front()->jobs.size();
        heaps.pop_front();
    }
}

std::uint64_t HandlerPool::State::claims() const {
    std::uint64_t sum = claims_before;
    for (const auto& heap : heaps) sum += heap->claimed();
    return sum;
}

std::size_t HandlerPool::State::waiting() const {
    std::size_t sum = 0;
    for (const auto& heap : heaps) sum += heap->jobs.size() - heap->claimed();
    return sum;
}

/// The heap to work on; waits for one. Null: the end.
std::shared_ptr<Heap> HandlerPool::State::take() {
    std::unique_lock lock{mutex};
    drop_used_up();
    if (heaps.empty() && !stopping) {
        ++idle;
        work.wait(lock, [this] {
            drop_used_up();
            return stopping || !heaps.empty();
        });
        --idle;
    }
    if (heaps.empty()) return nullptr;
    // One wakes the next: as many threads as the work needs, no stampede.
    const auto& front = heaps.front();
    if (idle > 0 && (heaps.size() > 1 || front->claimed() + 1 < front->jobs.size())) {
        work.notify_one();
    }
    return front;
}

void HandlerPool::State::cancel_waiting(std::span<const std::uint64_t> numbers) {
    const std::lock_guard lock{mutex};
    drop_used_up();
    if (heaps.empty()) cancelled.clear();
    for (const auto& heap : heaps) {
        for (std::size_t i = heap->claimed(); i < heap->numbers.size(); ++i) {
            if (std::ranges::find(numbers, heap->numbers[i]) != numbers.end()) {
                cancelled.insert(heap->numbers[i]);
            }
        }
    }
    any_cancelled.store(!cancelled.empty(), std::memory_order_release);
}

bool HandlerPool::State::was_cancelled(std::uint64_t number) {
    if (!any_cancelled.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock{mutex};
    const bool was = cancelled.erase(number) > 0;
    any_cancelled.store(!cancelled.empty(), std::memory_order_release);
    return was;
}

void HandlerPool::State::run(Worker& worker, HandlerBody& body, Job job) {
    const std::uint64_t number = job.delivery.number;
    std::stop_token stop;
    {
        const std::lock_guard lock{worker.mutex};
        if (worker.stop.stop_requested()) worker.stop = std::stop_source{};
        worker.number = number;
        worker.deadline = job.delivery.deadline;
        stop = worker.stop.get_token();
    }
    // Looked up after the worker can be found: a cancel arrives either way.
    if (!was_cancelled(number)) {
        DeliveryResults results = body.call(job.delivery, stop, clock);
        {
            const std::lock_guard lock{worker.mutex};
            worker.number = 0;
            worker.deadline = local_never;
        }
        job.completion(std::move(results));
        return;
    }
    const std::lock_guard lock{worker.mutex};
    worker.number = 0;
    worker.deadline = local_never;
}

void HandlerPool::State::work_until_stopped(std::shared_ptr<State> state,
                                            std::shared_ptr<Worker> worker) {
    name_this_thread("waybill handler");
    bool abandoned = false;
    while (!abandoned) {
        const std::shared_ptr<Heap> heap = state->take();
        if (!heap) break;
        while (!abandoned && !state->stopping.load(std::memory_order_relaxed)) {
            const std::size_t claim = heap->next.fetch_add(1, std::memory_order_relaxed);
            if (claim >= heap->jobs.size()) break;
            state->run(*worker, *heap->body, std::move(heap->jobs[claim]));
            state->outstanding.fetch_sub(1, std::memory_order_relaxed);
            const std::lock_guard lock{worker->mutex};
            abandoned = worker->abandoned;
        }
    }
    {
        const std::lock_guard lock{worker->mutex};
        worker->finished = true;
    }
    const std::lock_guard lock{state->mutex};
    --state->alive;
    state->ended.notify_all();
}

HandlerPool::HandlerPool(PoolOptions options, Clock& clock)
    : options_(options), state_(std::make_shared<State>(clock)) {
    const std::uint32_t at_first = std::min(options_.threads_max, 2U);
    for (std::uint32_t i = 0; i < at_first; ++i) spawn();
}

HandlerPool::~HandlerPool() {
    std::deque<std::shared_ptr<Heap>> left;
    {
        std::unique_lock lock{state_->mutex};
        state_->stopping = true;
        left.swap(state_->heaps);
        state_->work.notify_all();
    }
    for (const auto& heap : left) heap->release_rest();
    {
        std::unique_lock lock{state_->mutex};
        state_->ended.wait_for(lock, kGrace, [this] { return state_->alive == 0; });
    }
    for (const auto& worker : workers_) {
        std::unique_lock lock{worker->mutex};
        const bool busy = worker->number != 0;
        lock.unlock();
        busy ? worker->thread.detach() : worker->thread.join();
    }
}

void HandlerPool::spawn() {
    auto worker = std::make_shared<Worker>();
    {
        const std::lock_guard lock{state_->mutex};
        ++state_->alive;
    }
    worker->thread = std::thread{&State::work_until_stopped, state_, worker};
    workers_.push_back(std::move(worker));
}

void HandlerPool::start(const std::shared_ptr<HandlerBody>& body, std::vector<Job> jobs) {
    if (jobs.empty()) return;
    for (const Job& job : jobs) next_overdue_ = std::min(next_overdue_, job.delivery.deadline);
    state_->outstanding.fetch_add(jobs.size(), std::memory_order_relaxed);
    auto heap = std::make_shared<Heap>(body, std::move(jobs));
    bool idle = false;
    {
        const std::lock_guard lock{state_->mutex};
        state_->heaps.push_back(std::move(heap));
        idle = state_->idle > 0;
    }
    if (idle) state_->work.notify_one();
    if (workers_.size() < options_.threads_max && next_growth_ == local_never) {
        next_growth_ = LocalTime::min();
    }
}

void HandlerPool::cancel(std::span<const std::uint64_t> numbers) {
    state_->cancel_waiting(numbers);
    for (const std::uint64_t number : numbers) {
        for (const auto& worker : workers_) {
            std::unique_lock lock{worker->mutex};
            if (worker->number != number) continue;
            // Replaced before it is signalled: the worker's next job must not see this one's end.
            std::stop_source stop = std::exchange(worker->stop, std::stop_source{});
            lock.unlock();
            stop.request_stop();  // Runs the handler's own callbacks: no lock is held.
            break;
        }
    }
}

void HandlerPool::replace_overdue(LocalTime now) {
    next_overdue_ = local_never;
    std::uint32_t abandoned = 0;
    std::uint32_t fresh = 0;
    for (auto place = workers_.begin(); place != workers_.end();) {
        Worker& worker = **place;
        std::unique_lock lock{worker.mutex};
        if (worker.finished) {
            lock.unlock();
            worker.thread.join();
            place = workers_.erase(place);
            continue;
        }
        if (worker.number != 0 && !worker.abandoned) {
            if (worker.deadline <= now) {
                worker.abandoned = true;
                ++fresh;
            } else {
                next_overdue_ = std::min(next_overdue_, worker.deadline);
            }
        }
        abandoned += worker.abandoned ? 1U : 0U;
        ++place;
    }
    const std::uint32_t before = abandoned - fresh;
    const std::uint32_t allowed =
        options_.replacements_max > before ? options_.replacements_max - before : 0;
    for (std::uint32_t i = 0; i < std::min(fresh, allowed); ++i) spawn();
}

void HandlerPool::grow(LocalTime now) {
    std::size_t waiting = 0;
    std::uint64_t claims = 0;
    {
        const std::lock_guard lock{state_->mutex};
        waiting = state_->waiting();
        claims = state_->claims();
    }
    const std::uint64_t seen = std::exchange(seen_claims_, claims);
    const bool first_look =
        std::exchange(next_growth_, later(now, kGrowthPause)) == LocalTime::min();
    if (waiting == 0 || workers_.size() >= options_.threads_max) {
        next_growth_ = local_never;
    } else if (!first_look && seen == claims) {
        const std::size_t room = options_.threads_max - workers_.size();
        const std::size_t more = std::min({waiting, workers_.size() + 1, room});
        for (std::size_t i = 0; i < more; ++i) spawn();
    }
}

LocalTime HandlerPool::poll(LocalTime now) {
    if (now >= next_overdue_) {
        replace_overdue(now);
        // Jobs on their way to a worker have deadlines too: look again soon while there are any.
        if (state_->outstanding.load(std::memory_order_relaxed) > 0) {
            next_overdue_ = std::min(next_overdue_, later(now, kLookAgain));
        }
    }
    if (now >= next_growth_) grow(now);
    return std::min(next_growth_, next_overdue_);
}

std::uint32_t HandlerPool::threads() const {
    return static_cast<std::uint32_t>(workers_.size());
}

}  // namespace waybill::runtime
