#include "core/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace waybill {
namespace {

std::size_t distance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    for (std::size_t j = 0; j <= right.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= left.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t changed = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
    std::string best;
    // Half of it wrong is another word, not a slip.
    std::size_t least = std::max<std::size_t>(2, word.size() / 2) + 1;
    for (const std::string& candidate : known) {
        const std::size_t far = distance(word, candidate);
        if (far < least) {
            least = far;
            best = candidate;
        }
    }
    return best;
}

}  // namespace waybill
