#include "cli/progress.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include <unistd.h>

namespace waybill::cli {

std::string progress_bar(std::uint64_t done, std::uint64_t total) {
    constexpr std::uint64_t kWidth = 20;
    const std::uint64_t all = std::max<std::uint64_t>(total, 1);
    const std::uint64_t now = std::min(done, all);
    const auto full = static_cast<std::size_t>(now * kWidth / all);
    std::string percent = std::to_string(now * 100 / all);
    percent.insert(0, 3 - percent.size(), ' ');
    return "[" + std::string(full, '#') + std::string(kWidth - full, '.') + "] " + percent +
           " %  " + std::to_string(done) + " of " + std::to_string(total);
}

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)), total_(total), on_terminal_(::isatty(STDOUT_FILENO) != 0) {}

Progress::~Progress() {
    if (on_terminal_ && said_ > 0) std::cout << "\r\033[K" << std::flush;
}

void Progress::at(std::uint64_t done) {
    if (on_terminal_) {
        const bool moved =
            said_ == 0 || done >= total_ || done * 100 / total_ != said_ * 100 / total_;
        if (!moved) return;
        std::cout << "\r\033[K" << progress_bar(done, total_) << " " << what_ << std::flush;
        said_ = std::max<std::uint64_t>(done, 1);
        return;
    }
    // About ten lines, whatever the total, and few more when that was guessed too low.
    const std::uint64_t step = done > total_ ? std::max<std::uint64_t>(total_, 1'000)
                                             : std::max<std::uint64_t>(total_ / 10, 1);
    if (done <= said_ || (done != total_ && done - said_ < step)) return;
    said_ = done;
    std::cout << done << " of " << total_ << " " << what_ << "\n" << std::flush;
}

}  // namespace waybill::cli
