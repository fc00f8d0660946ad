#include "transport/http_out/http_out.hpp"

#include <algorithm>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/runtime/thread_name.hpp"
#include "transport/http_out/multi.hpp"
#include "transport/http_out/resolver.hpp"
#include "transport/http_out/transfer.hpp"
#include "waybill/system.hpp"

namespace waybill::http_out {

namespace {

/// Of libcurl's, for the next requests: some kilobytes each.
constexpr std::size_t kHandlesKept = 256;
/// Results: whoever gets them goes on while the next ones are read. Few enough that no side waits for the other, and
/// more than one, because telling wakes a thread.
constexpr std::size_t kToldTogether = 8;

}  // namespace

struct HttpOut::Parts {
    explicit Parts(const HttpOutOptions& chosen) : options(chosen), resolver(chosen.name_servers) {
        multi.watch(resolver.descriptor());
    }

    using Number = std::uint64_t;
    struct Order {
        Sending sending{};
        std::uint64_t number = 0;
    };
    struct UnderWay {
        std::unique_ptr<Transfer> transfer{};
        /// When its deadlines are looked at.
        LocalTime look_at = local_never;
        /// libcurl has it.
        bool is_going = false;
    };

    void run();
    void take_orders();
    void begin(Order order);
    void go(Number number, const Found& found);
    void collect();
    void tell_after_results();
    void look_at_deadlines();
    void look_later(Number number, UnderWay& one, LocalTime at);
    void end(Number number, Result result);
    void cancel(Number number);
    void cancel_all();
    Easy spare_handle();
    void keep_handle(Transfer& transfer);

    const HttpOutOptions options;
    Multi multi{};
    /// The thread's own.
    std::vector<Easy> handles{};
    Urls urls{};
    std::size_t told = 0;
    std::unordered_map<Number, UnderWay> under_way{};
    std::set<std::pair<LocalTime, Number>> looks{};
    Resolver resolver;

    std::mutex mutex{};  ///< guards the four below
    std::vector<Order> orders{};
    std::vector<Number> cancels{};
    Number next_number = 1;
    bool stopping = false;

    std::jthread thread{};  // lint: allow(seams) libcurl's own: it waits on all sockets at once
};

void HttpOut::Parts::run() {
    runtime::name_this_thread("waybill http");
    for (;;) {
        take_orders();
        tell_after_results();  // of those that were refused or cancelled
        {
            const std::lock_guard lock{mutex};
            if (stopping) break;
        }
        const LocalTime look = looks.empty() ? local_never : looks.begin()->first;
        // Those in use count, too: thousands that hang must not cost the others their connections.
        multi.limit_connections(options.connections_kept + under_way.size());
        resolver.turn(multi.turn(std::min(look, resolver.due())));
        collect();
        look_at_deadlines();
        tell_after_results();
    }
    cancel_all();
    tell_after_results();
}

void HttpOut::Parts::tell_after_results() {
    if (std::exchange(told, 0) > 0 && options.after_results) options.after_results();
}

void HttpOut::Parts::take_orders() {
    std::vector<Order> fresh;
    std::vector<Number> unwanted;
    {
        const std::lock_guard lock{mutex};
        fresh.swap(orders);
        unwanted.swap(cancels);
    }
    for (Order& order : fresh) begin(std::move(order));
    for (const Number number : unwanted) cancel(number);
}

void HttpOut::Parts::begin(Order order) {
    const Number number = order.number;
    const LocalTime now = system_clock().now();
    auto& [request, on_result] = order.sending;
    const std::optional<UrlParts>& parts = urls.find(request.url);
    auto transfer =
        std::make_unique<Transfer>(spare_handle(), std::move(request), std::move(on_result), number,
                                   options, parts, multi, now);
    if (std::optional<Result> refused = transfer->refusal(parts)) {
        ++told;
        transfer->answer(std::move(*refused));
        return keep_handle(*transfer);
    }
    const std::string name = transfer->name();
    UnderWay& one = under_way[number];
    one.transfer = std::move(transfer);
    look_later(number, one, later(now, one.transfer->look(now).again));
    if (name.empty()) return go(number, {});
    resolver.find(name, [this, number](const Found& found) { go(number, found); });
}

/// Its addresses are known, if they were asked for.
void HttpOut::Parts::go(Number number, const Found& found) {
    const auto place = under_way.find(number);
    if (place == under_way.end()) return;  // it was given up meanwhile
    Transfer& transfer = *place->second.transfer;
    if (std::optional<Result> refused = transfer.take_addresses(found, system_clock().now())) {
        return end(number, std::move(*refused));
    }
    multi.add(transfer.handle(), transfer.host());
    place->second.is_going = true;
}

void HttpOut::Parts::collect() {
    while (const std::optional<Multi::Ended> ended = multi.ended()) {
        Transfer* transfer = nullptr;
        ::curl_easy_getinfo(ended->easy, CURLINFO_PRIVATE, &transfer);
        const LocalTime now = system_clock().now();
        if (transfer->goes_on(ended->code, now)) {
            multi.remove(ended->easy, transfer->host());
            multi.add(ended->easy, transfer->host());
            continue;
        }
        end(transfer->number(), transfer->finish(ended->code, now));
        if (told >= kToldTogether) tell_after_results();
    }
}

void HttpOut::Parts::look_at_deadlines() {
    const LocalTime now = system_clock().now();
    while (!looks.empty() && looks.begin()->first <= now) {
        const Number number = looks.begin()->second;
        UnderWay& one = under_way.at(number);
        const Look look = one.transfer->look(now);
        if (look.limit > Duration{}) {
            end(number, one.transfer->give_up(look.limit, now));
        } else {
            look_later(number, one, one.transfer->begun() + look.again);
        }
    }
}

void HttpOut::Parts::look_later(Number number, UnderWay& one, LocalTime at) {
    looks.erase({one.look_at, number});
    one.look_at = at;
    looks.emplace(at, number);
}

void HttpOut::Parts::end(Number number, Result result) {
    const auto found = under_way.find(number);
    const UnderWay one = std::move(found->second);
    under_way.erase(found);
    looks.erase({one.look_at, number});
    if (one.is_going) multi.remove(one.transfer->handle(), one.transfer->host());
    ++told;
    one.transfer->answer(std::move(result));
    keep_handle(*one.transfer);
}

Easy HttpOut::Parts::spare_handle() {
    if (handles.empty()) return make_easy();
    Easy handle = std::move(handles.back());
    handles.pop_back();
    return handle;
}

void HttpOut::Parts::keep_handle(Transfer& transfer) {
    if (handles.size() < kHandlesKept) handles.push_back(transfer.take_handle());
}

void HttpOut::Parts::cancel(Number number) {
    const auto found = under_way.find(number);
    if (found == under_way.end()) return;
    end(number, found->second.transfer->cancel(system_clock().now()));
}

void HttpOut::Parts::cancel_all() {
    take_orders();
    while (!under_way.empty()) cancel(under_way.begin()->first);
}

HttpOut::HttpOut(const HttpOutOptions& options) : parts_(std::make_unique<Parts>(options)) {
    parts_->thread =
        std::jthread{[parts = parts_.get()] { parts->run(); }};  // lint: allow(seams) see above
}

HttpOut::~HttpOut() {
    {
        const std::lock_guard lock{parts_->mutex};
        parts_->stopping = true;
    }
    parts_->multi.wake();
    parts_->thread.join();
}

std::uint64_t HttpOut::start(Request request, OnResult on_result) {
    std::vector<Sending> one;
    one.push_back({std::move(request), std::move(on_result)});
    return start(std::move(one));
}

std::uint64_t HttpOut::start(std::vector<Sending> sendings) {
    std::uint64_t first = 0;
    bool are_first = false;
    {
        const std::lock_guard lock{parts_->mutex};
        first = parts_->next_number;
        // Whoever put the first of them there has woken the thread, and it takes all.
        are_first = parts_->orders.empty();
        for (Sending& sending : sendings) {
            parts_->orders.push_back({std::move(sending), parts_->next_number++});
        }
    }
    if (are_first) parts_->multi.wake();
    return first;
}

void HttpOut::cancel(std::uint64_t number) {
    {
        const std::lock_guard lock{parts_->mutex};
        parts_->cancels.push_back(number);
    }
    parts_->multi.wake();
}

Result perform(const Request& request) {
    std::promise<Result> promise;
    HttpOut out;
    out.start(request, [&](Result result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
}

}  // namespace waybill::http_out
