#include "transport/http_in/session.hpp"

#include <algorithm>
#include <utility>

#include "transport/http_in/door.hpp"
#include "transport/http_in/response_text.hpp"

namespace waybill::http_in {
namespace {

/// How long a client may still send what nobody reads, so that it can see its answer: a socket closed
/// with unread bytes takes the answer with it.
constexpr Duration kLeaveDeadline = std::chrono::seconds{2};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

Session::Session(Door& door, std::unique_ptr<Stream> stream, std::string remote, std::string place)
    : door_(door),
      stream_(std::move(stream)),
      remote_(std::move(remote)),
      place_(std::move(place)),
      reader_(door.options.request) {}

std::shared_ptr<Session> Session::self() {
    return std::static_pointer_cast<Session>(shared_from_this());
}

void Session::enter(Phase phase, Duration deadline) {
    phase_ = phase;
    deadline_ = later(door_.now(), deadline);
}

void Session::start() {
    enter(Phase::opening, door_.options.tls_deadline);
    stream_->open(*this);
}

void Session::on_open(bool ok) {
    if (phase_ == Phase::closed) return;
    if (!ok) return close();
    next_request();
}

void Session::next_request() {
    number_ += 1;
    bytes_in_ = 0;
    enter(Phase::idle, door_.options.idle_deadline);
    if (!pending_.empty()) return feed(std::exchange(pending_, {}));
    if (door_.stopping()) return close();
    read_on();
}

void Session::read_on() {
    stream_->read(*this);
}

void Session::on_bytes(std::string_view bytes) {
    if (phase_ == Phase::closed) return;
    if (bytes.empty()) return close();
    if (phase_ == Phase::leaving) return read_on();
    feed(bytes);
}

void Session::feed(std::string_view bytes) {
    if (phase_ == Phase::idle) {
        began_at_ = door_.now();
        enter(Phase::head, door_.options.header_deadline);
    }
    while (!bytes.empty()) {
        const std::size_t used = reader_.read(bytes);
        bytes_in_ += used;
        bytes.remove_prefix(used);
        switch (reader_.state()) {
            case RequestReader::State::refused: return refuse(reader_.refusal());
            case RequestReader::State::complete:
                if (phase_ == Phase::head && !is_admitted()) return;
                pending_.assign(bytes);
                return begin_handling();
            case RequestReader::State::body:
                if (phase_ != Phase::head) break;
                if (!is_admitted()) return;
                enter(Phase::body, door_.options.body_deadline);
                head_bytes_ = bytes_in_;
                body_at_ = door_.now();
                break;
            case RequestReader::State::head: break;
        }
    }
    if (phase_ == Phase::body && reader_.wants_continue()) {
        writing_continue_ = true;
        if (!stream_->write(*this, kContinue)) return;
        writing_continue_ = false;
        reader_.continued();
    }
    read_on();
}

bool Session::is_admitted() {
    const auto& uncounted = door_.options.uncounted_paths;
    if (std::ranges::find(uncounted, reader_.request().path()) != uncounted.end()) return true;
    const Duration wait = door_.admit(place_);
    if (wait <= Duration{}) return true;
    refuse({429, "too-many-requests", "too many requests from one address; slow down"}, wait);
    return false;
}

void Session::begin_handling() {
    method_ = reader_.request().method;
    path_ = reader_.request().path();
    keep_alive_ = reader_.keep_alive() && !door_.stopping();
    say_keep_alive_ = keep_alive_ && reader_.is_http_1_0();
    HttpRequest request = reader_.take();
    request.remote_address = remote_;
    enter(Phase::handling, door_.options.answer_deadline);
    complete_at_ = door_.now();
    door_.handle(self(), number_, std::move(request));
}

void Session::answer(std::uint64_t number, const HttpResponse& response, std::string_view outcome) {
    if (phase_ != Phase::handling || number != number_) return;
    if (door_.stopping()) keep_alive_ = say_keep_alive_ = false;
    write_answer(response, outcome);
}

void Session::refuse(const Refusal& refusal, Duration retry_after) {
    method_ = reader_.request().method;
    path_ = reader_.request().path();
    keep_alive_ = say_keep_alive_ = false;
    complete_at_ = door_.now();
    write_answer(to_response(refusal, retry_after), refusal.code);
}

void Session::write_answer(const HttpResponse& response, std::string_view outcome) {
    enter(Phase::writing, door_.options.write_deadline);
    out_ = to_text(response,
                   {.keep_alive = keep_alive_,
                    .say_keep_alive = say_keep_alive_,
                    .without_body = method_ == "HEAD"},
                   door_.date());
    if (door_.on_access) {
        const LocalTime now = door_.now();
        door_.on_access({.remote = remote_,
                         .method = method_,
                         .path = path_,
                         .status = response.status,
                         .outcome = outcome,
                         .bytes_in = bytes_in_,
                         .bytes_out = out_.size(),
                         .reading = complete_at_ - began_at_,
                         .handling = now - complete_at_});
    }
    if (stream_->write(*this, out_)) on_written(true);
}

void Session::on_written(bool ok) {
    if (phase_ == Phase::closed) return;
    if (!ok) return close();
    if (writing_continue_) {
        writing_continue_ = false;
        reader_.continued();
        return read_on();
    }
    if (keep_alive_) return next_request();
    stream_->finish_writing();
    enter(Phase::leaving, kLeaveDeadline);
    read_on();
}

/// Below the least pace since the body began.
bool Session::drips(LocalTime now) const {
    const Duration time = now - body_at_;
    if (phase_ != Phase::body || time < door_.options.body_rate_grace) return false;
    const double seconds = std::chrono::duration<double>(time).count();
    return static_cast<double>(bytes_in_ - head_bytes_) <
           static_cast<double>(door_.options.body_rate_min) * seconds;
}

void Session::on_tick(LocalTime now) {
    if (now < deadline_ && !drips(now)) return;
    switch (phase_) {
        case Phase::head:
            return refuse({408, "slow-request", "the head of the request took too long"});
        case Phase::body:
            if (writing_continue_) return close();
            return refuse({408, "slow-request", "the body of the request took too long"});
        case Phase::handling:
            keep_alive_ = say_keep_alive_ = false;
            return write_answer(
                to_response({503, "outcome-unknown", "this took too long; send it again"}),
                "outcome-unknown");
        default: return close();
    }
}

void Session::finish() {
    if (phase_ == Phase::idle || phase_ == Phase::opening || phase_ == Phase::leaving) close();
}

void Session::close() {
    if (phase_ == Phase::closed) return;
    phase_ = Phase::closed;
    stream_->close();
    door_.forget(self());
}

}  // namespace waybill::http_in
