#include "transport/http_in/request_reader.hpp"

#include <algorithm>
#include <utility>

#include "transport/http_in/grammar.hpp"

namespace waybill::http_in {

void RequestReader::refuse(unsigned status, std::string_view code, std::string_view message) {
    state_ = State::refused;
    keep_alive_ = false;
    refusal_ = {status, code, message};
}

HttpRequest RequestReader::take() {
    HttpRequest request = std::move(request_);
    *this = RequestReader{*limits_};
    return request;
}

std::size_t RequestReader::read(std::string_view bytes) {
    std::size_t used = 0;
    while (used < bytes.size() && (state_ == State::head || state_ == State::body)) {
        const State before = state_;
        const std::string_view rest = bytes.substr(used);
        const bool in_lines = state_ == State::head || part_ == BodyPart::chunk_line ||
                              part_ == BodyPart::chunk_end || part_ == BodyPart::trailer;
        used += in_lines ? read_lines(rest) : read_body(rest);
        if (before == State::head && state_ == State::body) break;
    }
    return used;
}

/// Up to the end of one line. Its end is CR LF and nothing else.
std::size_t RequestReader::read_lines(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char c = bytes[i];
        const bool after_cr = !line_.empty() && line_.back() == '\r';
        if (c == '\n' && after_cr) {
            line_.pop_back();
            section_bytes_ += line_.size() + 2;
            on_line();
            line_.clear();
            return i + 1;
        }
        if (c == '\n' || after_cr) {
            refuse(400, "bad-line-end", "a line must end in CR LF");
            return i + 1;
        }
        if (c == '\0') {
            refuse(400, "nul-byte", "a NUL byte has no place in a header");
            return i + 1;
        }
        if (state_ == State::body && part_ == BodyPart::chunk_end && c != '\r') {
            refuse(400, "bad-chunk", "a chunk is longer than its announced size");
            return i + 1;
        }
        line_.push_back(c);
        const bool in_chunk_line = state_ == State::body && part_ == BodyPart::chunk_line;
        if (in_chunk_line && line_.size() > limits_->chunk_line_bytes_max) {
            refuse(400, "chunk-header-too-large", "a chunk's size line is too long");
            return i + 1;
        }
        if (!in_chunk_line && section_bytes_ + line_.size() > limits_->header_bytes_max) {
            refuse(431, "headers-too-large", "the request line and header fields are too large");
            return i + 1;
        }
    }
    return bytes.size();
}

void RequestReader::on_line() {
    if (state_ == State::body) {
        if (part_ == BodyPart::chunk_line) return on_chunk_line(line_);
        if (part_ == BodyPart::trailer) return on_trailer_line(line_);
        part_ = BodyPart::chunk_line;
        section_bytes_ = 0;
        return;
    }
    if (lines_ == 0) {
        // One empty line in front of a request is what some old clients send after a body.
        if (line_.empty() && !skipped_empty_line_) {
            skipped_empty_line_ = true;
            section_bytes_ = 0;
            return;
        }
        ++lines_;
        return on_request_line(line_);
    }
    ++lines_;
    if (line_.empty()) return on_head_end();
    on_field(line_);
}

void RequestReader::on_request_line(std::string_view line) {
    constexpr std::string_view kMessage = "the request line must be METHOD SP TARGET SP HTTP/1.1";
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) {
        return refuse(400, "bad-request-line", kMessage);
    }
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    if (!is_token(method) || !is_target_text(target)) {
        return refuse(400, "bad-request-line", kMessage);
    }
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (version.size() != 8 || !version.starts_with("HTTP/") || version[6] != '.' ||
        !is_digit(version[5]) || !is_digit(version[7])) {
        return refuse(400, "bad-request-line", kMessage);
    }
    http_1_0_ = version == "HTTP/1.0";
    if (!http_1_0_ && version != "HTTP/1.1") {
        return refuse(505, "bad-version", "this server speaks HTTP/1.1");
    }
    keep_alive_ = !http_1_0_;
    request_.method = method;
    on_target(target);
}

/// "/path", or "http://host/path" as proxies write it. "*" and "host:port" are for methods we do not
/// have.
void RequestReader::on_target(std::string_view target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
        const std::string_view rest = target.substr(scheme.size());
        const std::size_t path = rest.find_first_of("/?");
        if (!is_host(rest.substr(0, path)) || path == std::string_view::npos || rest[path] != '/') {
            return refuse(400, "bad-target", "the request's target is not a path");
        }
        target = rest.substr(path);
        break;
    }
    if (!target.starts_with('/')) {
        return refuse(400, "bad-target", "the request's target is not a path");
    }
    request_.target = target;
}

void RequestReader::on_field(std::string_view line) {
    if (line.front() == ' ' || line.front() == '\t') {
        return refuse(400, "folded-header", "a header field must be on one line");
    }
    if (++fields_ > limits_->fields_max) {
        return refuse(431, "too-many-headers", "the request has too many header fields");
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        return refuse(400, "bad-header", "a header field must be NAME: VALUE");
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (!is_field_value(value)) {
        return refuse(400, "bad-header", "a header field has a control character in its value");
    }
    on_known_field(name, value);
    if (state_ != State::refused) {
        request_.headers.add(std::string{name}, std::string{value});
    }
}

/// What decides about framing may be said once, and in one spelling.
void RequestReader::on_known_field(std::string_view name, std::string_view value) {
    if (equal_ignoring_case(name, "Content-Length")) {
        const auto length = parse_length(value);
        if (has_length_ || !length) {
            return refuse(400, "bad-content-length", "Content-Length must be one plain number");
        }
        has_length_ = true;
        remaining_ = *length;
    } else if (equal_ignoring_case(name, "Transfer-Encoding")) {
        if (has_encoding_ || http_1_0_ || !equal_ignoring_case(value, "chunked")) {
            return refuse(400, "bad-transfer-encoding",
                          "Transfer-Encoding must be \"chunked\", once, and in HTTP/1.1");
        }
        has_encoding_ = true;
        chunked_ = true;
    } else if (equal_ignoring_case(name, "Host")) {
        if (has_host_ || !is_host(value)) {
            return refuse(400, "bad-host", "Host must be one host, with or without a port");
        }
        has_host_ = true;
    } else if (equal_ignoring_case(name, "Connection")) {
        if (lists(value, "close")) keep_alive_ = false;
        if (http_1_0_ && lists(value, "keep-alive")) keep_alive_ = true;
    } else if (equal_ignoring_case(name, "Expect")) {
        if (!equal_ignoring_case(value, "100-continue")) {
            return refuse(417, "bad-expectation",
                          "the only expectation known here is 100-continue");
        }
        expects_continue_ = !http_1_0_;
    } else if (equal_ignoring_case(name, "Content-Encoding")) {
        const bool passes = limits_->passes_gzip && equal_ignoring_case(value, "gzip");
        const bool is_plain = value.empty() || equal_ignoring_case(value, "identity");
        const bool is_second = std::exchange(has_content_encoding_, true);
        if ((!is_plain && !passes) || (is_second && limits_->passes_gzip)) {
            return refuse(415, "unsupported-encoding", "send the body without Content-Encoding");
        }
    }
}

void RequestReader::on_head_end() {
    if (!has_host_ && !http_1_0_) {
        return refuse(400, "bad-host", "an HTTP/1.1 request must have a Host");
    }
    if (has_length_ && chunked_) {
        return refuse(400, "ambiguous-length",
                      "Content-Length and Transfer-Encoding exclude each other");
    }
    if (has_length_ && remaining_ > limits_->body_bytes_max) {
        return refuse(413, "body-too-large", "the body is larger than this server accepts");
    }
    section_bytes_ = 0;
    fields_ = 0;
    part_ = chunked_ ? BodyPart::chunk_line : BodyPart::counted;
    state_ = chunked_ || remaining_ > 0 ? State::body : State::complete;
}

std::size_t RequestReader::read_body(std::string_view bytes) {
    const std::size_t used = take_counted(bytes);
    if (remaining_ == 0) {
        if (part_ == BodyPart::chunk) {
            part_ = BodyPart::chunk_end;
            section_bytes_ = 0;
        } else {
            state_ = State::complete;
        }
    }
    return used;
}

std::size_t RequestReader::take_counted(std::string_view bytes) {
    expects_continue_ = false;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
    // What is announced is not reserved: it may never come.
    request_.body.append(bytes.substr(0, size));
    remaining_ -= size;
    return size;
}

void RequestReader::on_chunk_line(std::string_view line) {
    expects_continue_ = false;
    const std::size_t semicolon = line.find(';');
    const auto size = parse_chunk_size(line.substr(0, semicolon));
    if (!size || !is_field_value(line)) {
        return refuse(400, "bad-chunk", "a chunk must begin with its size in hexadecimal");
    }
    if (*size == 0) {
        part_ = BodyPart::trailer;
        section_bytes_ = 0;
        return;
    }
    if (request_.body.size() + *size > limits_->body_bytes_max) {
        return refuse(413, "body-too-large", "the body is larger than this server accepts");
    }
    remaining_ = *size;
    part_ = BodyPart::chunk;
}

/// Trailer fields are checked like any other and then forgotten: nobody may learn from them what the
/// head did not say.
void RequestReader::on_trailer_line(std::string_view line) {
    if (line.empty()) {
        state_ = State::complete;
        return;
    }
    if (line.front() == ' ' || line.front() == '\t') {
        return refuse(400, "folded-header", "a header field must be on one line");
    }
    if (++fields_ > limits_->fields_max) {
        return refuse(431, "too-many-headers", "the request has too many header fields");
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) ||
        !is_field_value(line.substr(colon + 1))) {
        return refuse(400, "bad-header", "a header field must be NAME: VALUE");
    }
}

}  // namespace waybill::http_in
