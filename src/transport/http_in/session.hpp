#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "transport/http_in/request_reader.hpp"
#include "transport/http_in/stream.hpp"
#include "waybill/http.hpp"
#include "waybill/time.hpp"

namespace waybill::http_in {

class Door;

/// One connection: one request after the other, each answered before the next is looked at.
///
/// Thread safety: the door's thread.
/// Lifetime:      kept by the door until it is closed, and by whatever it waits for.
class Session final : public StreamUser {
public:
    /// `place` is what counts as its address.
    Session(Door& door, std::unique_ptr<Stream> stream, std::string remote, std::string place);

    const std::string& place() const { return place_; }
    void start();
    /// Ignored unless it is for the request being handled.
    void answer(std::uint64_t number, const HttpResponse& response, std::string_view outcome);
    /// Looks at its deadline.
    void on_tick(LocalTime now);
    /// Closes it unless something of a request was read.
    void finish();
    void close();

    void on_open(bool ok) override;
    void on_bytes(std::string_view bytes) override;
    void on_written(bool ok) override;

private:
    enum class Phase : std::uint8_t {
        opening,
        idle,      ///< nothing of a request was read
        head,      ///< a part of its head
        body,      ///< the head, and a part of the body
        handling,  ///< the handler has it
        writing,   ///< an answer is being written
        leaving,   ///< the last answer was written; what still comes is thrown away
        closed,
    };

    void enter(Phase phase, Duration deadline);
    void read_on();
    void feed(std::string_view bytes);
    /// The head is complete: may it go on?
    bool is_admitted();
    bool drips(LocalTime now) const;
    void begin_handling();
    void refuse(const Refusal& refusal, Duration retry_after = std::chrono::seconds{1});
    void write_answer(const HttpResponse& response, std::string_view outcome);
    void next_request();
    std::shared_ptr<Session> self();

    Door& door_;
    std::unique_ptr<Stream> stream_;
    const std::string remote_;
    const std::string place_;
    RequestReader reader_;
    Phase phase_ = Phase::opening;
    LocalTime deadline_ = local_never;
    /// Bytes that came after a complete request.
    std::string pending_{};
    /// What is being written.
    std::string out_{};
    bool writing_continue_ = false;

    /// The request being handled, for its answer and for the log.
    std::uint64_t number_ = 0;
    std::string method_{};
    std::string path_{};
    bool keep_alive_ = true;
    bool say_keep_alive_ = false;
    std::uint64_t bytes_in_ = 0;
    /// Where the body begins.
    std::uint64_t head_bytes_ = 0;
    LocalTime body_at_{};
    LocalTime began_at_{};
    LocalTime complete_at_{};
};

}  // namespace waybill::http_in
