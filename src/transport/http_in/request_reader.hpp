#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "waybill/http.hpp"

/// The framing of HTTP/1.1 requests, strict and pure: bytes in, one request or one refusal out.
///
/// Two programs that disagree about where a request ends can be played against each other, so nothing
/// is repaired and nothing guessed: what RFC 9112 does not clearly allow is refused, and a refusal
/// always ends the connection.
namespace waybill::http_in {

/// What a request may cost before anybody has looked at it.
struct RequestLimits {
    /// Request line and header fields together; trailer fields again. Beyond: 431.
    std::size_t header_bytes_max = std::size_t{16} << 10;
    /// Header fields; trailer fields again. Beyond: 431.
    std::size_t fields_max = 100;
    /// Beyond: 413, before it is read where its length is announced.
    std::uint64_t body_bytes_max = std::uint64_t{1} << 20;
    /// A chunk's size and extensions. Beyond: 400.
    std::size_t chunk_line_bytes_max = 1024;
    /// Content-Encoding: gzip is the handler's affair. Off: 415, like any other.
    bool passes_gzip = false;

    bool operator==(const RequestLimits&) const = default;
};

/// Why a request is answered without anybody looking at what it wants.
struct Refusal {
    unsigned status = 400;
    /// Stable, for programs.
    std::string_view code{};
    std::string_view message{};
};

/// Reads one request after the other from the bytes of a connection.
///
/// Thread safety: none.
/// Lifetime:      as long as its connection.
class RequestReader {
public:
    enum class State : std::uint8_t {
        head,      ///< of the head nothing, or not all, was read
        body,      ///< the head is complete
        complete,  ///< take() it
        refused,   ///< answer refusal() and close: the rest of the connection means nothing
    };

    /// The limits outlive it, and may change between two calls.
    explicit RequestReader(const RequestLimits& limits) : limits_(&limits) {}

    /// Reads on; returns how many of `bytes` belong to this request. It stops early once, when the
    /// head is complete, so that somebody can answer "100 Continue".
    std::size_t read(std::string_view bytes);

    State state() const { return state_; }
    /// Something of a request was read: its sender may expect an answer.
    bool started() const { return state_ != State::head || !line_.empty() || lines_ > 0; }
    /// The sender waits for "100 Continue" before it sends the body.
    bool wants_continue() const { return state_ == State::body && expects_continue_; }
    /// It was told to go on.
    void continued() { expects_continue_ = false; }
    const Refusal& refusal() const { return refusal_; }
    /// What is known so far.
    const HttpRequest& request() const { return request_; }
    bool is_http_1_0() const { return http_1_0_; }
    /// The sender would use the connection again.
    bool keep_alive() const { return keep_alive_; }

    /// The complete request; the reader is ready for the next one.
    HttpRequest take();

private:
    enum class BodyPart : std::uint8_t { counted, chunk_line, chunk, chunk_end, trailer };

    void refuse(unsigned status, std::string_view code, std::string_view message);
    std::size_t read_lines(std::string_view bytes);
    std::size_t read_body(std::string_view bytes);
    std::size_t take_counted(std::string_view bytes);
    void on_line();
    void on_request_line(std::string_view line);
    void on_target(std::string_view target);
    void on_field(std::string_view line);
    void on_known_field(std::string_view name, std::string_view value);
    void on_head_end();
    void on_chunk_line(std::string_view line);
    void on_trailer_line(std::string_view line);

    const RequestLimits* limits_;
    State state_ = State::head;
    BodyPart part_ = BodyPart::counted;
    HttpRequest request_{};
    Refusal refusal_{};
    /// The line being read, and the bytes and lines of this head, or of the trailer, before it.
    std::string line_{};
    std::size_t section_bytes_ = 0;
    std::size_t lines_ = 0;
    std::size_t fields_ = 0;
    bool skipped_empty_line_ = false;
    /// Of the body, or of the chunk.
    std::uint64_t remaining_ = 0;
    bool http_1_0_ = false;
    bool keep_alive_ = true;
    bool has_host_ = false;
    bool has_length_ = false;
    bool has_encoding_ = false;
    bool chunked_ = false;
    bool has_content_encoding_ = false;
    bool expects_continue_ = false;
};

}  // namespace waybill::http_in
