#pragma once

#include <cstdint>
#include <string>

namespace waybill::cli {

/// "[#########...........]  45 %  450 of 1000". Pure.
std::string progress_bar(std::uint64_t done, std::uint64_t total);

/// How far long work is: a bar that moves on a terminal, now and then a line otherwise.
class Progress {
public:
    /// `what` is done: "letters requeued".
    Progress(std::string what, std::uint64_t total);
    /// Clears the bar, so that what is printed next has a line of its own.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void at(std::uint64_t done);

private:
    const std::string what_;
    const std::uint64_t total_;
    const bool on_terminal_;
    std::uint64_t said_ = 0;
};

}  // namespace waybill::cli
