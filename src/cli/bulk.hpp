#pragma once

#include <string>

#include "cli/command.hpp"
#include "cli/operator_desk.hpp"

namespace waybill::cli {

/// An order over many, in the words of the person who gives it.
struct BulkWords {
    /// "requeue", "requeued"
    std::string verb{};
    std::string done{};
    /// "dead letter", "dead letters"
    std::string one{};
    std::string many{};
    /// With its query: answers {"count"}.
    std::string count_request{};
    /// With its query, without a limit.
    std::string order_request{};
};

/// Shows how many there are and asks; then in steps under one operation id, so that one that was
/// interrupted goes on where it ended. An order with a rate waits as long as it is told to.
int operate_on_many(OperatorDesk& desk, const Arguments& arguments, const BulkWords& words);

/// The answer to an order about one message.
int print_outcome(const Arguments& arguments, const json::Value& result, const BulkWords& words);

}  // namespace waybill::cli
