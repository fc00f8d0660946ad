#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/http_out/exchange.hpp"

/// HTTP requests to others: libcurl behind one door.
namespace waybill::http_out {

/// Called on the thread of HttpOut: neither blocks nor throws.
using OnResult = std::function<void(Result result)>;

/// A request, and who hears what came of it.
struct Sending {
    Request request{};
    OnResult on_result{};
};

struct HttpOutOptions {
    /// Connections that wait for their next request. 1 … 65,536.
    std::uint32_t connections_kept = 1'024;
    /// One that was not used for so long is not used again.
    Duration connection_idle = std::chrono::seconds{60};
    /// "10.0.0.2,10.0.0.3:5353". Empty: those of /etc/resolv.conf.
    std::string name_servers{};
    /// Called on the thread of HttpOut, like OnResult, when some results have been told, and before it waits for more.
    std::function<void()> after_results{};
};

/// Many requests at once on one thread.
///
/// Thread safety: any thread.
/// Lifetime:      the destructor cancels what is under way and calls every OnResult.
/// Errors:        the constructor throws std::runtime_error; what goes wrong later is a Result.
class HttpOut {
public:
    explicit HttpOut(const HttpOutOptions& options = {});
    ~HttpOut();
    HttpOut(const HttpOut&) = delete;
    HttpOut& operator=(const HttpOut&) = delete;

    /// Returns its number.
    std::uint64_t start(Request request, OnResult on_result);
    /// All of them at once, for they wake the thread once. Their numbers follow on the one it returns.
    std::uint64_t start(std::vector<Sending> sendings);
    /// Its OnResult comes soon, if it has not come yet: with what the answer said if its headers are here
    /// already, else `cancelled`.
    void cancel(std::uint64_t number);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// " is …" when no request can go there, "" otherwise. Nothing is looked up.
std::string problem_of_url(const std::string& url);

/// One request; the caller waits for it.
Result perform(const Request& request);

}  // namespace waybill::http_out
