#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// HTTP as plain values: what a server has read and what it is to answer. Any HTTP library can be
/// turned into these, and nothing here knows one.
namespace waybill {

/// One line of a header.
struct HttpHeader {
    std::string name{};
    std::string value{};

    bool operator==(const HttpHeader&) const = default;
};

/// In the order in which they came; names compare without regard to case.
class HttpHeaders {
public:
    HttpHeaders() = default;
    HttpHeaders(std::initializer_list<HttpHeader> headers) : all_(headers) {}

    void reserve(std::size_t count) { all_.reserve(count); }
    void add(std::string name, std::string value);
    /// Replaces all of that name.
    void set(std::string name, std::string value);

    /// The first of that name. Null: there is none.
    const std::string* find(std::string_view name) const;
    /// How many there are of that name.
    std::size_t count(std::string_view name) const;

    auto begin() const { return all_.begin(); }
    auto end() const { return all_.end(); }
    std::size_t size() const { return all_.size(); }

    bool operator==(const HttpHeaders&) const = default;

private:
    std::vector<HttpHeader> all_{};
};

/// A request that was read completely. The body is the bytes as they came.
struct HttpRequest {
    std::string method = "GET";
    /// Path and query, as in the request line: "/webhooks/stripe?x=1".
    std::string target = "/";
    HttpHeaders headers{};
    std::string body{};
    /// The peer, without its port: "127.0.0.1", "::1". Empty: not known.
    std::string remote_address{};

    /// The target up to the question mark.
    std::string_view path() const;
    /// The target after the question mark.
    std::string_view query() const;

    bool operator==(const HttpRequest&) const = default;
};

/// What to answer. Content-Length, Date and Connection are the server's own affair.
struct HttpResponse {
    unsigned status = 200;
    HttpHeaders headers{};
    std::string body{};

    bool operator==(const HttpResponse&) const = default;
};

/// Names of headers and schemes: ASCII letters are equal in either case.
bool same_name(std::string_view left, std::string_view right);

/// The fields of a query or a form, decoded, in their order.
using FormFields = std::vector<std::pair<std::string, std::string>>;
/// Nothing: its encoding is broken.
std::optional<FormFields> form_fields(std::string_view form);
/// The first of that name, decoded. Nothing: there is none, or the form is broken.
std::optional<std::string> form_field(std::string_view form, std::string_view name);

}  // namespace waybill
