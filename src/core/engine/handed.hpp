#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace waybill::engine {

/// Transactions of which every row was handed over and is in memory, comes back by itself when it is due, or is not
/// ours: increments need not bring them, and under load they would bring little else. Only a hint: what is not known
/// to be complete is read.
class Handed {
public:
    /// A row of this transaction is known; it wrote so many. They come one after the other.
    void take(std::uint64_t transaction, std::uint32_t rows) {
        if (transaction != last_) {
            last_ = transaction;
            taken_ = 0;
        }
        if (++taken_ != rows || transaction == 0) {
            return;
        }
        if (known_.size() == kMost) {
            known_.pop_front();
            passing_ -= std::min<std::size_t>(passing_, 1);
        }
        known_.push_back(transaction);
    }
    std::vector<std::uint64_t> known() const { return {known_.begin(), known_.end()}; }

    /// The first page of an increment goes out: what is known now has been committed, so that it passes all of it.
    void increment_begins() { passing_ = known_.size(); }
    void increment_ends() {
        known_.erase(known_.begin(), known_.begin() + static_cast<std::ptrdiff_t>(passing_));
        passing_ = 0;
    }
    /// There is another position, or another store.
    void clear() { *this = {}; }

private:
    static constexpr std::size_t kMost = 256;

    std::uint64_t last_ = 0;
    std::uint32_t taken_ = 0;
    std::deque<std::uint64_t> known_{};
    /// So many of them, the oldest, are passed by the increment that is being read.
    std::size_t passing_ = 0;
};

}  // namespace waybill::engine
