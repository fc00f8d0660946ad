#include "core/facade/last_letter.hpp"

#include <algorithm>
#include <vector>

namespace waybill::detail {
namespace {

constexpr std::uint64_t kPage = 100;  // they come with their bodies

/// Every store numbers its letters in the order in which they died, and a cursor is that number.
bool is_after(const std::string& cursor, const std::string& other) {
    if (cursor.size() != other.size()) return cursor.size() > other.size();
    return cursor > other;
}

}  // namespace

std::string last_letter(Catalogue& catalogue, const Filter& filter, std::uint64_t count) {
    std::string last;
    while (count > 0) {
        const auto rows = static_cast<std::uint32_t>(std::min(count, kPage));
        const Page<DeadLetterDetail> page = catalogue.dead_letters(filter, last, rows);
        if (page.items.empty()) break;
        last = page.items.back().cursor;
        count -= page.items.size();
    }
    return last;
}

void end_at(Page<DeadLetterDetail>& page, const std::string& last) {
    const auto later = std::erase_if(
        page.items, [&](const DeadLetterDetail& item) { return is_after(item.cursor, last); });
    if (later > 0) page.next.clear();
}

}  // namespace waybill::detail
