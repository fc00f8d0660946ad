#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "transport/http_out/http_out.hpp"

namespace waybill::test {

/// Requests to others, and what came of them, in the order in which they were started.
class Asked {
public:
    std::uint64_t start(http_out::HttpOut& out, http_out::Request request) {
        auto promise = std::make_shared<std::promise<http_out::Result>>();
        results_.push_back(promise->get_future());
        // A second result would throw where nothing may, and end the test.
        return out.start(std::move(request), [promise](http_out::Result result) {
            promise->set_value(std::move(result));
        });
    }
    /// Waits for it; once.
    http_out::Result result(std::size_t number = 0) { return results_.at(number).get(); }

private:
    std::vector<std::future<http_out::Result>> results_{};
};

/// One request that waits for its result.
inline http_out::Result ask(http_out::HttpOut& out, http_out::Request request) {
    Asked asked;
    asked.start(out, std::move(request));
    return asked.result();
}

}  // namespace waybill::test
