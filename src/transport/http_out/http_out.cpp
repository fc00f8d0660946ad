#include "transport/http_out/http_out.hpp"

#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/http_out/transfer.hpp"

namespace waybill::http_out {

std::string problem_of_url(const std::string& url) {
    if (!url.starts_with("http://") && !url.starts_with("https://")) {
        return " must begin with http:// or https://";
    }
    const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed{::curl_url(), ::curl_url_cleanup};
    const CURLUcode code = ::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
    if (code == CURLUE_OK) return {};
    return std::string{" is not a URL: "} + ::curl_url_strerror(code);
}

struct HttpOut::Parts {
    Parts() : multi(::curl_multi_init(), ::curl_multi_cleanup) {}

    struct Order {
        Request request{};
        OnResult on_result{};
        std::uint64_t number = 0;
    };

    void run();
    void take_orders();
    void begin(Order order);
    void collect();
    void end(std::uint64_t number, Result result);
    void cancel_all();

    std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi;
    /// The thread's own.
    std::unordered_map<std::uint64_t, std::unique_ptr<Transfer>> transfers{};

    std::mutex mutex{};  ///< guards the four below
    std::vector<Order> orders{};
    std::vector<std::uint64_t> cancels{};
    std::uint64_t next_number = 1;
    bool stopping = false;

    std::jthread thread{};  // lint: allow(seams) libcurl's own: it waits on all sockets at once
};

void HttpOut::Parts::run() {
    for (;;) {
        take_orders();
        {
            const std::lock_guard lock{mutex};
            if (stopping) break;
        }
        int running = 0;
        ::curl_multi_perform(multi.get(), &running);
        collect();
        // Without transfers there is nothing to wait for but the next order.
        ::curl_multi_poll(multi.get(), nullptr, 0, transfers.empty() ? 3'600'000 : 1'000, nullptr);
    }
    cancel_all();
}

void HttpOut::Parts::take_orders() {
    std::vector<Order> fresh;
    std::vector<std::uint64_t> unwanted;
    {
        const std::lock_guard lock{mutex};
        fresh.swap(orders);
        unwanted.swap(cancels);
    }
    for (Order& order : fresh) begin(std::move(order));
    for (const std::uint64_t number : unwanted) {
        end(number, {.error = "cancelled", .cancelled = true});
    }
}

void HttpOut::Parts::begin(Order order) {
    const std::uint64_t number = order.number;
    auto transfer =
        std::make_unique<Transfer>(std::move(order.request), std::move(order.on_result), number);
    ::curl_multi_add_handle(multi.get(), transfer->handle());
    transfers.emplace(number, std::move(transfer));
}

void HttpOut::Parts::collect() {
    int left = 0;
    while (const CURLMsg* message = ::curl_multi_info_read(multi.get(), &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        Transfer* transfer = nullptr;
        ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        end(transfer->number(), transfer->finish(message->data.result));
    }
}

void HttpOut::Parts::end(std::uint64_t number, Result result) {
    const auto found = transfers.find(number);
    if (found == transfers.end()) return;
    const std::unique_ptr<Transfer> transfer = std::move(found->second);
    transfers.erase(found);
    ::curl_multi_remove_handle(multi.get(), transfer->handle());
    transfer->answer(std::move(result));
}

void HttpOut::Parts::cancel_all() {
    take_orders();
    while (!transfers.empty()) {
        end(transfers.begin()->first, {.error = "cancelled", .cancelled = true});
    }
}

HttpOut::HttpOut() : parts_(std::make_unique<Parts>()) {
    parts_->thread =
        std::jthread{[parts = parts_.get()] { parts->run(); }};  // lint: allow(seams) see above
}

HttpOut::~HttpOut() {
    {
        const std::lock_guard lock{parts_->mutex};
        parts_->stopping = true;
    }
    ::curl_multi_wakeup(parts_->multi.get());
    parts_->thread.join();
}

std::uint64_t HttpOut::start(Request request, OnResult on_result) {
    std::uint64_t number = 0;
    {
        const std::lock_guard lock{parts_->mutex};
        number = parts_->next_number++;
        parts_->orders.push_back({std::move(request), std::move(on_result), number});
    }
    ::curl_multi_wakeup(parts_->multi.get());
    return number;
}

void HttpOut::cancel(std::uint64_t number) {
    {
        const std::lock_guard lock{parts_->mutex};
        parts_->cancels.push_back(number);
    }
    ::curl_multi_wakeup(parts_->multi.get());
}

}  // namespace waybill::http_out
