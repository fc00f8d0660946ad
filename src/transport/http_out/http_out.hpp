#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "transport/http_out/egress.hpp"
#include "waybill/http.hpp"
#include "waybill/time.hpp"

/// HTTP requests to others: libcurl behind one door.
namespace waybill::http_out {

/// One request. Redirects are not followed, proxies of the environment are not used.
struct Request {
    std::string method = "POST";
    std::string url{};
    HttpHeaders headers{};
    std::string_view body{};
    /// Keeps what `body` points to.
    std::shared_ptr<const void> owner{};
    /// For all of it, from the name to the last byte of the answer.
    Duration timeout = std::chrono::seconds{30};
    /// https: this key and no other, whoever signed it and whatever name is in its certificate. Empty:
    /// one that the system trusts, for the host of the URL.
    std::string key_pin{};
    /// Every address is judged by it before a connection is made, and again before a request goes out on one.
    /// Null: anywhere.
    std::shared_ptr<const Egress> egress{};
    /// More of the answer's body is not read.
    std::uint64_t response_bytes_max = std::uint64_t{64} << 10;
};

/// What came back.
struct Result {
    /// 0: no answer came, and `error` says why.
    unsigned status = 0;
    HttpHeaders headers{};
    std::string body{};
    std::string error{};
    /// Not `allowed`: where nothing was sent to, and why.
    Verdict verdict = Verdict::allowed;
    /// It was ended by cancel() or by the end of HttpOut.
    bool cancelled = false;
};

/// Called on the thread of HttpOut: neither blocks nor throws.
using OnResult = std::function<void(Result result)>;

/// Many requests at once on one thread.
///
/// Thread safety: any thread.
/// Lifetime:      the destructor cancels what is under way and calls every OnResult.
/// Errors:        what goes wrong is a Result.
class HttpOut {
public:
    HttpOut();
    ~HttpOut();
    HttpOut(const HttpOut&) = delete;
    HttpOut& operator=(const HttpOut&) = delete;

    /// Returns its number.
    std::uint64_t start(Request request, OnResult on_result);
    /// Its OnResult comes soon, if it has not come yet.
    void cancel(std::uint64_t number);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// " is …" when no request can go there, "" otherwise. Nothing is looked up.
std::string problem_of_url(const std::string& url);

/// One request on the caller's thread.
Result perform(const Request& request);

}  // namespace waybill::http_out
