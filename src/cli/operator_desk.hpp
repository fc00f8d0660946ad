#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "waybill/http.hpp"
#include "waybill/json.hpp"
#include "waybill/time.hpp"

namespace waybill::cli {

/// Where operators' orders go: the server that has the store's file open, or the store itself when nobody
/// has, or when it is one that many share.
/// Whoever only looks changes nothing: a file that is no store, or not one of this version, is named.
///
/// Errors: std::runtime_error with what to do, UsageError where the order was not understood, ConfigError
///         for an order without a server and without a configuration that can be used.
class OperatorDesk {
public:
    /// `may_create`: a store that is not there yet is made, and an older one brought to this version.
    explicit OperatorDesk(const Globals& globals, bool may_create = false);
    ~OperatorDesk();
    OperatorDesk(const OperatorDesk&) = delete;
    OperatorDesk& operator=(const OperatorDesk&) = delete;

    /// The store's file; empty: it has none.
    const std::string& file() const { return file_; }
    /// The answer's JSON; an error's message is thrown.
    json::Value get(const std::string& target);
    /// `operation`: the same order under this id is carried out once. Empty: no id.
    json::Value post(const std::string& target, const json::Value& body = json::Value{},
                     const std::string& operation = {});

    /// What the owners of the work said to the commands of each order, as a list of
    /// {"command","answered","carried_out","text"} per order. Waits a moment for all of them together; who
    /// has not answered then is busy, or no server runs: the command stays ordered.
    json::Array owners_answers(const std::vector<json::Value>& orders);

private:
    bool find_server();
    json::Value ask(const HttpRequest& request);
    json::Value owners_answer(std::uint64_t command, LocalTime until);

    std::string file_{};
    /// Others may have it open, and answer commands.
    bool is_shared_ = false;
    /// What is wrong with the configuration.
    Problems problems_{};
    struct Direct;
    std::unique_ptr<Direct> direct_{};
    std::function<HttpResponse(const HttpRequest&)> answer_{};
};

}  // namespace waybill::cli
