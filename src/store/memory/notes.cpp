#include <algorithm>

#include "calls.hpp"

namespace waybill::memory {
namespace {

constexpr std::size_t kNotesMax = 10'000;

}  // namespace

std::optional<std::string> note(const Tables& tables, StoreTime now, const std::string& name) {
    const auto found = tables.notes.find(name);
    if (found == tables.notes.end() || found->second.until <= now) return std::nullopt;
    return found->second.text;
}

std::vector<Note> notes(const Tables& tables, StoreTime now, const std::string& prefix) {
    std::vector<Note> all;
    for (auto at = tables.notes.lower_bound(prefix);
         at != tables.notes.end() && at->first.starts_with(prefix); ++at) {
        if (at->second.until > now) all.push_back({at->first, at->second.text});
    }
    return all;
}

void keep_note(Tables& tables, const std::string& name, const std::string& text, StoreTime until) {
    if (tables.notes.size() >= kNotesMax && !tables.notes.contains(name)) {
        // The one that would be gone first goes now; those that stay for ever are nobody's to drop.
        const auto first = std::ranges::min_element(
            tables.notes, {}, [](const auto& entry) { return entry.second.until; });
        if (first->second.until != store_never) tables.notes.erase(first);
    }
    tables.notes[name] = {text, until};
}

}  // namespace waybill::memory
