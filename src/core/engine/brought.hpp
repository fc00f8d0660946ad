#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "waybill/message.hpp"

namespace waybill::engine {

/// What the last increments brought. A message that is appended here while one of them is read may come with it, and
/// be finished before its hand-over arrives: then it must not start again. What they did not bring may start at once,
/// or a steady stream of appends would need a read for each of its batches.
class Brought {
public:
    /// By the read of this number, which is higher than that of every read before.
    void add(std::uint64_t read, std::vector<Sequence> sequences) {
        std::ranges::sort(sequences);
        rows_ += sequences.size();
        pages_.emplace_back(read, std::move(sequences));
        while (pages_.size() > kPagesMax || rows_ > kRowsMax) {
            forget_up_to(pages_.front().first);
        }
    }

    /// From now on nobody can say what reads up to this number brought.
    void forget_up_to(std::uint64_t read) {
        forgotten_ = std::max(forgotten_, read);
        while (!pages_.empty() && pages_.front().first <= forgotten_) {
            rows_ -= pages_.front().second.size();
            pages_.pop_front();
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

    std::deque<std::pair<std::uint64_t, std::vector<Sequence>>> pages_{};
    std::size_t rows_ = 0;
    std::uint64_t forgotten_ = 0;
};

}  // namespace waybill::engine
