#pragma once

#include <functional>
#include <thread>
#include <utility>

namespace waybill::test {

/// Something that goes on beside the test; the destructor waits for its end.
class Background {
public:
    explicit Background(std::function<void(std::stop_token)> body) : thread_(std::move(body)) {}
    void stop() { thread_.request_stop(); }
    void join() {
        if (thread_.joinable()) thread_.join();
    }

private:
    std::jthread thread_;
};

}  // namespace waybill::test
