#include "transport/http_in/door.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "transport/http_in/response_text.hpp"
#include "transport/http_in/session.hpp"
#include "transport/http_in/tls.hpp"

namespace waybill::http_in {

namespace asio = boost::asio;
using Error = boost::system::error_code;

namespace {

/// What counts as one address: of IPv6 the network, of which everybody has 2^64 addresses.
std::string place_of(asio::ip::address address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    if (address.is_v4()) return address.to_string();
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
    return asio::ip::address_v6{bytes}.to_string();
}

asio::ip::tcp::endpoint endpoint_of(asio::io_context& io, const std::string& host,
                                    std::uint16_t port, Error& error) {
    asio::ip::tcp::resolver resolver{io};
    const auto found =
        resolver.resolve(host, std::to_string(port), asio::ip::tcp::resolver::passive, error);
    return error ? asio::ip::tcp::endpoint{} : found.begin()->endpoint();
}

void open_at(asio::ip::tcp::acceptor& acceptor, const asio::ip::tcp::endpoint& endpoint,
             Error& error) {
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
}

}  // namespace

std::string problem_of_host(const std::string& host) {
    asio::io_context io;
    Error error;
    const asio::ip::tcp::endpoint endpoint = endpoint_of(io, host, 0, error);
    if (error) return host + " is not an address: " + error.message();
    asio::ip::tcp::acceptor acceptor{io};
    open_at(acceptor, endpoint, error);
    if (error) return host + " is not an address of this machine: " + error.message();
    return {};
}

/// Answers at the latest when the last copy of its Reply is gone.
class Reply::Pending {
public:
    Pending(std::shared_ptr<Outbox> outbox, std::weak_ptr<Session> session, std::uint64_t number)
        : outbox_(std::move(outbox)), session_(std::move(session)), number_(number) {}
    ~Pending() {
        answer(to_response({503, "no-answer", "nobody answered; send it again"}), "no-answer");
    }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    void answer(HttpResponse response, std::string outcome) noexcept {
        if (answered_.test_and_set()) return;
        outbox_->put({std::move(session_), number_, std::move(response), std::move(outcome)});
    }

private:
    std::shared_ptr<Outbox> outbox_;
    std::weak_ptr<Session> session_;
    std::uint64_t number_;
    std::atomic_flag answered_{};
};

void Reply::operator()(HttpResponse response, std::string outcome) const noexcept {
    pending_->answer(std::move(response), std::move(outcome));
}

void Outbox::put(Answer answer) {
    const std::lock_guard lock{mutex_};
    if (io_ == nullptr) return;
    answers_.push_back(std::move(answer));
    if (answers_.size() == 1) asio::post(*io_, fetch_them_);
}

std::vector<Outbox::Answer> Outbox::fetch() {
    const std::lock_guard lock{mutex_};
    return std::exchange(answers_, {});
}

void Outbox::close() {
    const std::lock_guard lock{mutex_};
    io_ = nullptr;
    answers_.clear();
    fetch_them_ = nullptr;
}

Door::Door(Options given, Handler handler, OnAccess access, Clock& clock)
    : options(std::move(given)),
      on_access(std::move(access)),
      outbox(std::make_shared<Outbox>(io)),
      handler_(std::move(handler)),
      clock_(clock) {
    outbox->on_first([this] { fetch_answers(); });
}

void Door::listen() {
    // First what may be wrong with it for good.
    if (options.tls) tls_ = read_tls(*options.tls);
    Error error;
    const std::string where = options.host + ":" + std::to_string(options.port);
    const asio::ip::tcp::endpoint endpoint = endpoint_of(io, options.host, options.port, error);
    if (error) {
        throw ConfigError{{"listen: " + where + " is not an address: " + error.message()}};
    }
    open_at(acceptor_, endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    if (error) {
        throw ConfigError{{"listen: cannot listen on " + where + ": " + error.message() +
                           "; stop what listens there, or choose another port"}};
    }
    accept();
}

void Door::accept() {
    acceptor_.async_accept([this](const Error& error, asio::ip::tcp::socket socket) {
        if (stopping_ || error == asio::error::operation_aborted) return;
        if (error) {
            // Out of descriptors, most likely: somebody has to leave first.
            accept_pause_.expires_after(std::chrono::milliseconds{100});
            accept_pause_.async_wait([this](const Error& cancelled) {
                if (!cancelled && !stopping_) accept();
            });
            return;
        }
        on_accepted(std::move(socket));
        accept();
    });
}

void Door::on_accepted(asio::ip::tcp::socket socket) {
    Error error;
    socket.set_option(asio::ip::tcp::no_delay(true), error);
    const auto peer = socket.remote_endpoint(error);
    std::string remote = error ? std::string{} : peer.address().to_string();
    if (sessions_.size() >= options.connections_max) {
        return turn_away(std::move(socket), remote,
                         {503, "too-many-connections", "too many connections; come again later"});
    }
    std::string place = error ? std::string{} : place_of(peer.address());
    if (!addresses_.enter(place)) {
        return turn_away(std::move(socket), remote,
                         {429, "too-many-connections", "too many connections from one address"});
    }
    auto session = std::make_shared<Session>(
        *this,
        tls_ ? tls_stream(std::move(socket), tls_) : plain_stream(std::move(socket), scratch_),
        std::move(remote), std::move(place));
    sessions_.insert(session);
    connections.store(sessions_.size(), std::memory_order_relaxed);
    arm_tick();
    session->start();
}

void Door::turn_away(asio::ip::tcp::socket socket, const std::string& remote,
                     const Refusal& refusal) {
    Error ignored;
    socket.non_blocking(true, ignored);
    std::size_t bytes_out = 0;
    if (!tls_) {
        const std::string text = to_text(to_response(refusal), {.keep_alive = false}, date());
        bytes_out = socket.write_some(asio::buffer(text), ignored);
    }
    if (on_access) {
        on_access({.remote = remote,
                   .status = refusal.status,
                   .outcome = refusal.code,
                   .bytes_out = bytes_out});
    }
    socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
}

void Door::forget(const std::shared_ptr<Session>& session) {
    if (sessions_.erase(session) == 1) addresses_.leave(session->place());
    connections.store(sessions_.size(), std::memory_order_relaxed);
    if (stopping_ && sessions_.empty()) io.stop();
}

void Door::handle(const std::shared_ptr<Session>& session, std::uint64_t number,
                  HttpRequest request) {
    const auto pending = std::make_shared<Reply::Pending>(outbox, session, number);
    const Reply reply{pending};
    ++handling_;
    if (handling_ > options.requests_max) {
        reply(to_response({503, "overloaded", "too many requests are waiting; come again later"}),
              "overloaded");
        return;
    }
    try {
        handler_(std::move(request), reply);
    } catch (...) {
        reply(to_response({500, "internal-error", "the request could not be handled"}),
              "internal-error");
    }
}

void Door::fetch_answers() {
    for (const Outbox::Answer& answer : outbox->fetch()) {
        --handling_;
        if (const auto session = answer.session.lock()) {
            session->answer(answer.number, answer.response, answer.outcome);
        }
    }
}

std::string_view Door::date() {
    const StoreTime now = clock_.wall();
    const auto second =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    if (second != date_second_) {
        date_second_ = second;
        date_ = http_date(now);
    }
    return date_;
}

void Door::begin_stop(Duration grace) {
    if (stopping_) return;
    stopping_ = true;
    stop_at_ = later(now(), grace);
    Error ignored;
    acceptor_.close(ignored);
    accept_pause_.cancel();
    const auto all = sessions_;
    for (const auto& session : all) {
        if (grace > Duration{}) {
            session->finish();
        } else {
            session->close();
        }
    }
    if (sessions_.empty()) io.stop();
}

/// One look at all connections now and then instead of a timer for each: a deadline may be late by a
/// tick, and costs nothing per request.
void Door::arm_tick() {
    if (ticking_) return;
    ticking_ = true;
    const Duration shortest =
        std::min({options.tls_deadline, options.header_deadline, options.body_deadline,
                  options.body_rate_grace, options.idle_deadline, options.answer_deadline,
                  options.write_deadline});
    tick_.expires_after(std::clamp<Duration>(shortest / 4, std::chrono::milliseconds{5},
                                             std::chrono::milliseconds{250}));
    tick_.async_wait([this](const Error& error) {
        ticking_ = false;
        if (!error) on_tick();
    });
}

void Door::on_tick() {
    const LocalTime moment = now();
    const bool time_is_up = moment >= stop_at_;
    const auto all = sessions_;
    for (const auto& session : all) {
        if (time_is_up) {
            session->close();
        } else {
            session->on_tick(moment);
        }
    }
    addresses_.forget_rested(moment);
    if (!sessions_.empty()) arm_tick();
}

}  // namespace waybill::http_in
