#include "transport/http_in/http_in.hpp"

#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "core/address.hpp"
#include "transport/http_in/door.hpp"
#include "transport/http_in/session.hpp"
#include "waybill/system.hpp"

namespace waybill::http_in {
namespace {

void require(Problems& problems, bool good, const char* text) {
    if (!good) problems.emplace_back(text);
}

}  // namespace

Problems check(const Options& options) {
    Problems problems;
    const auto positive = [](Duration time) { return time > Duration{} && time < forever; };
    require(problems, is_address_or_name(options.host),
            "listen: the host must be an IP address or a name, such as 127.0.0.1 or localhost");
    require(problems, options.connections_max >= 1 && options.connections_max <= 1'000'000,
            "connections_max: must be 1 … 1,000,000");
    require(problems, options.requests_max >= 1 && options.requests_max <= 1'000'000,
            "requests_max: must be 1 … 1,000,000");
    require(problems,
            options.request.header_bytes_max >= 1024 &&
                options.request.header_bytes_max <= (std::size_t{1} << 20),
            "header_max: must be 1 KiB … 1 MiB");
    require(problems, options.request.body_bytes_max <= (std::uint64_t{256} << 20),
            "body_max: must be at most 256 MiB");
    require(problems,
            positive(options.tls_deadline) && positive(options.header_deadline) &&
                positive(options.body_deadline) && positive(options.idle_deadline) &&
                positive(options.answer_deadline) && positive(options.write_deadline) &&
                positive(options.body_rate_grace),
            "deadlines: must be more than zero");
    require(problems,
            options.per_address.requests_per_second >= 0 &&
                options.per_address.requests_per_second <= 1e6,
            "requests_per_address: must be 0 (no limit) … 1,000,000 per second");
    return problems;
}

struct HttpIn::Parts {
    Parts(Options options, Handler handler, OnAccess on_access, Clock& clock)
        : door(std::move(options), std::move(handler), std::move(on_access), clock) {}

    Door door;
    std::uint16_t port = 0;
    std::jthread thread{};  // lint: allow(seams) the one thread that owns all sockets
};

HttpIn::HttpIn(Options options, Handler handler, OnAccess on_access, Clock* clock) {
    if (Problems problems = check(options); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
    parts_ = std::make_unique<Parts>(std::move(options), std::move(handler), std::move(on_access),
                                     clock != nullptr ? *clock : system_clock());
    parts_->door.listen();
    parts_->port = parts_->door.port();
    parts_->thread = std::jthread{[&door = parts_->door] {  // lint: allow(seams) see above
        const auto work = boost::asio::make_work_guard(door.io);
        door.io.run();
    }};
}

HttpIn::~HttpIn() {
    stop(Duration{});
}

std::uint16_t HttpIn::port() const {
    return parts_->port;
}

std::uint64_t HttpIn::connections() const {
    return parts_->door.connections.load(std::memory_order_relaxed);
}

void HttpIn::set_limits(const RequestLimits& limits, const AddressOptions& per_address) {
    boost::asio::post(parts_->door.io, [this, limits, per_address] {
        parts_->door.options.request = limits;
        parts_->door.options.per_address = per_address;
    });
}

void HttpIn::set_tls(std::shared_ptr<Tls> tls) {
    boost::asio::post(parts_->door.io, [this, fresh = std::move(tls)]() mutable {
        parts_->door.set_tls(std::move(fresh));
    });
}

void HttpIn::stop(Duration grace) {
    if (!parts_->thread.joinable()) return;
    boost::asio::post(parts_->door.io, [this, grace] { parts_->door.begin_stop(grace); });
    parts_->thread.join();
    parts_->door.outbox->close();
}

}  // namespace waybill::http_in
