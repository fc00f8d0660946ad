#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "waybill/handler.hpp"

namespace waybill::server {

/// A handler that runs a program for each message: the body on its standard input, what the message is
/// as WAYBILL_* variables. Exit code 0 is done, 75 defer, 65 dead, anything else a failure, with the
/// last it wrote to standard error as the reason. At the deadline it and its children are killed.
/// `hidden`: variables of ours that it does not get.
Handler command_target(std::vector<std::string> command, std::vector<std::string> hidden);

/// Whether a program gets what the message is in this variable.
bool is_message_variable(std::string_view name);

/// What an exit means. Pure.
Outcome outcome_of_exit(int wait_status, const std::string& errors);

}  // namespace waybill::server
