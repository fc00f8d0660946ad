#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "waybill/http.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {

/// Where operators' orders go: the server that has the store open, or the store itself when nobody has.
///
/// Errors: std::runtime_error with what to do, UsageError where the order was not understood.
class OperatorDesk {
public:
    /// `may_create`: a store that is not there yet is made.
    explicit OperatorDesk(const Globals& globals, bool may_create = false);
    ~OperatorDesk();
    OperatorDesk(const OperatorDesk&) = delete;
    OperatorDesk& operator=(const OperatorDesk&) = delete;

    /// The answer's JSON; an error's message is thrown.
    json::Value get(const std::string& target);
    /// `operation`: the same order under this id is carried out once. Empty: no id.
    json::Value post(const std::string& target, const json::Value& body = json::Value{},
                     const std::string& operation = {});

    /// What the owner of the work said to a command.
    struct OwnersAnswer {
        bool carried_out = false;
        std::string text{};
    };
    /// Waits a moment for it; nothing: no server runs, or it is busy. The command stays ordered.
    std::optional<OwnersAnswer> owners_answer(std::uint64_t command);

private:
    json::Value ask(const HttpRequest& request);

    struct Direct;
    std::unique_ptr<Direct> direct_{};
    std::function<HttpResponse(const HttpRequest&)> answer_{};
};

}  // namespace waybill::cli
