#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "waybill/message.hpp"

namespace waybill::engine {

/// What the last reads brought. A message that is appended here while one of them is under way may come with it, and
/// be finished before its hand-over arrives: then it must not start again. What they did not bring may start at once,
/// or a steady stream of appends would need a read for each of its batches.
class Brought {
public:
    /// Reads that went out or were answered.
    std::uint64_t reads() const { return reads_; }
    /// One more. `says_what`: what it brings is added when it is answered.
    void count(bool says_what) {
        ++reads_;
        if (!says_what) {
            forget_up_to(reads_);
        }
    }
    /// By the last one.
    void add(std::vector<Sequence> sequences) {
        std::ranges::sort(sequences);
        rows_ += sequences.size();
        pages_.emplace_back(reads_, std::move(sequences));
        while (pages_.size() > kPagesMax || rows_ > kRowsMax) {
            forget_up_to(pages_.front().first);
        }
    }

    /// Whether it is known what the reads after this number brought.
    bool knows_since(std::uint64_t read) const { return read >= forgotten_; }

    /// Precondition: knows_since(read).
    bool has_since(std::uint64_t read, Sequence sequence) const {
        return std::any_of(pages_.rbegin(), pages_.rend(), [&](const auto& page) {
            return page.first > read && std::ranges::binary_search(page.second, sequence);
        });
    }

private:
    static constexpr std::size_t kPagesMax = 64;
    static constexpr std::size_t kRowsMax = 20'000;

    /// From now on nobody can say what those up to this number brought.
    void forget_up_to(std::uint64_t read) {
        forgotten_ = std::max(forgotten_, read);
        while (!pages_.empty() && pages_.front().first <= forgotten_) {
            rows_ -= pages_.front().second.size();
            pages_.pop_front();
        }
    }

    std::uint64_t reads_ = 0;
    /// By the number of their read.
    std::deque<std::pair<std::uint64_t, std::vector<Sequence>>> pages_{};
    std::size_t rows_ = 0;
    std::uint64_t forgotten_ = 0;
};

}  // namespace waybill::engine
