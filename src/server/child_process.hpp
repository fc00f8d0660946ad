#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace waybill::server {

/// A program to run, and which of our descriptors it gets; -1: it keeps ours.
struct ChildProcess {
    std::vector<std::string> command{};
    std::vector<std::string> environment{};
    int input = -1;
    int output = -1;
    int errors = -1;
};

/// In a process group of its own, so that its children can be killed with it, and with nothing else
/// of ours: no descriptor, no blocked or ignored signal. Throws std::runtime_error.
pid_t spawn(ChildProcess child);

/// What this process would hand on.
std::vector<std::string> own_environment();

}  // namespace waybill::server
