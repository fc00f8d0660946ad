#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "transport/http_in/http_in.hpp"

namespace waybill::http_in {

class Session;

/// Answers on their way from any thread to the door's: those that come together are fetched together.
///
/// Thread safety: any thread.
/// Lifetime:      shared with every Reply.
class Outbox {
public:
    struct Answer {
        std::weak_ptr<Session> session{};
        std::uint64_t number = 0;
        HttpResponse response{};
        std::string outcome{};
    };

    explicit Outbox(boost::asio::io_context& io) : io_(&io) {}
    void put(Answer answer);
    std::vector<Answer> fetch();
    /// From now on answers go nowhere.
    void close();
    void on_first(std::function<void()> fetch_them) { fetch_them_ = std::move(fetch_them); }

private:
    std::mutex mutex_;  ///< guards the two below
    boost::asio::io_context* io_;
    std::vector<Answer> answers_{};
    std::function<void()> fetch_them_{};
};

/// What the sessions of one door share.
///
/// Thread safety: one thread, that of `io`, once it runs.
class Door {
public:
    Door(Options options, Handler handler, OnAccess on_access, Clock& clock);

    /// Throws ConfigError.
    void listen();
    void accept();
    void begin_stop(Duration grace);
    void set_tls(std::shared_ptr<Tls> tls) {
        if (tls_) tls_ = std::move(tls);
    }
    void forget(const std::shared_ptr<Session>& session);
    /// How long that one must wait before its next request; zero: not at all.
    Duration admit(const std::string& address) { return addresses_.admit(address, now()); }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    LocalTime now() { return clock_.now(); }
    std::string_view date();
    bool stopping() const { return stopping_; }

    /// Hands a request over, or answers 503 itself.
    void handle(const std::shared_ptr<Session>& session, std::uint64_t number, HttpRequest request);

    boost::asio::io_context io{1};
    Options options;
    OnAccess on_access;
    std::shared_ptr<Outbox> outbox;
    std::atomic<std::uint64_t> connections{0};

private:
    void on_accepted(boost::asio::ip::tcp::socket socket);
    void turn_away(boost::asio::ip::tcp::socket socket, const std::string& remote,
                   const Refusal& refusal);
    void fetch_answers();
    void arm_tick();
    void on_tick();

    Handler handler_;
    Clock& clock_;
    boost::asio::ip::tcp::acceptor acceptor_{io};
    boost::asio::steady_timer tick_{io};
    boost::asio::steady_timer accept_pause_{io};
    std::shared_ptr<Tls> tls_{};
    std::unordered_set<std::shared_ptr<Session>> sessions_{};
    AddressLimits addresses_{options.per_address};
    std::array<char, 65'536> scratch_{};
    std::string date_{};
    std::int64_t date_second_ = -1;
    std::uint64_t handling_ = 0;
    bool ticking_ = false;
    bool stopping_ = false;
    LocalTime stop_at_ = local_never;
};

}  // namespace waybill::http_in
