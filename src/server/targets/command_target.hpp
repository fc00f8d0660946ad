#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "waybill/handler.hpp"

namespace waybill::server {

/// The programs that run, so that none is left behind when nobody waits for them any more.
///
/// Thread safety: any thread.
class RunningCommands {
public:
    void began(pid_t child);
    void ended(pid_t child);
    /// These, with what they have started, and whatever begins later.
    void kill_all();

private:
    std::mutex mutex_;  ///< guards both below
    std::set<pid_t> children_{};
    bool is_closed_ = false;
};

/// A handler that runs a program for each message: the body on its standard input, what the message is
/// as WAYBILL_* variables. Exit code 0 is done, 75 defer, 65 dead, anything else a failure, with the
/// last it wrote to standard error as the reason. At the deadline it and its children are killed; when the
/// stop token says so they get SIGTERM first, and half a second.
/// `hidden`: variables of ours that it does not get.
Handler command_target(std::vector<std::string> command, std::vector<std::string> hidden,
                       std::shared_ptr<RunningCommands> running);

/// Whether a program gets what the message is in this variable.
bool is_message_variable(std::string_view name);

/// What an exit means. Pure.
Outcome outcome_of_exit(int wait_status, const std::string& errors);

}  // namespace waybill::server
