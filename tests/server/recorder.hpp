#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/http_in/http_in.hpp"

namespace waybill::test {

struct Receipt {
    std::string path{};
    std::string message{};
    std::string body{};
};

/// Endpoints of webhooks, one for each path, which remember everything.
///
/// Thread safety: any thread.
class Recorder {
public:
    /// The status it answers to a request.
    using Answer = std::function<unsigned(const HttpRequest&)>;

    explicit Recorder(Answer answer = [](const HttpRequest&) { return 204U; })
        : answer_(std::move(answer)),
          door_({.port = 0}, [this](const HttpRequest& request, const http_in::Reply& reply) {
              {
                  const std::lock_guard lock{mutex_};
                  receipts_.push_back(
                      {request.target, *request.headers.find("webhook-id"), request.body});
                  count_.store(receipts_.size());
              }
              count_.notify_all();
              reply({.status = answer_(request)});
          }) {}

    std::string url(const char* path) const {
        return "http://127.0.0.1:" + std::to_string(door_.port()) + path;
    }
    std::vector<Receipt> receipts() {
        const std::lock_guard lock{mutex_};
        return receipts_;
    }
    /// What one of them received.
    std::vector<std::string> bodies(const std::string& path) {
        std::vector<std::string> all;
        for (Receipt& receipt : receipts()) {
            if (receipt.path == path) all.push_back(std::move(receipt.body));
        }
        return all;
    }
    std::size_t count() const { return count_.load(); }
    void wait_for(std::size_t count) {
        for (std::size_t seen = count_.load(); seen < count; seen = count_.load()) {
            count_.wait(seen);
        }
    }

private:
    const Answer answer_;
    std::mutex mutex_{};  ///< guards the receipts
    std::vector<Receipt> receipts_{};
    std::atomic<std::size_t> count_{0};
    http_in::HttpIn door_;
};

/// Refuses every tenth message once, at one path: it is done for the other endpoints and still open for this one.
///
/// Thread safety: any thread.
class RefusesEveryTenthOnce {
public:
    explicit RefusesEveryTenthOnce(std::string path) : path_(std::move(path)) {}

    unsigned operator()(const HttpRequest& request) {
        if (request.target != path_ || !request.body.ends_with('0')) return 204;
        const std::lock_guard lock{mutex_};
        return refused_.insert(request.body).second ? 409 : 204;
    }

private:
    const std::string path_;
    std::mutex mutex_{};  ///< guards the set
    std::set<std::string> refused_{};
};

/// Bodies are "lane/number": the numbers of first receipts of each "path lane", in the order in which they came.
inline std::map<std::string, std::vector<int>> first_receipts(
    const std::vector<Receipt>& receipts) {
    std::map<std::string, std::vector<int>> firsts;
    std::set<std::string> seen;
    for (const Receipt& receipt : receipts) {
        if (!seen.insert(receipt.path + receipt.message).second) continue;
        const std::size_t slash = receipt.body.find('/');
        firsts[receipt.path + " " + receipt.body.substr(0, slash)].push_back(
            std::stoi(receipt.body.substr(slash + 1)));
    }
    return firsts;
}

}  // namespace waybill::test
