#include "core/asking.hpp"

#include <algorithm>
#include <charconv>

#include "core/wording.hpp"
#include "waybill/catalogue.hpp"

namespace waybill::detail {

std::int64_t place_of_cursor(const std::string& cursor, std::int64_t beginning) {
    if (cursor.empty()) return beginning;
    std::int64_t place = 0;
    const char* const end = cursor.data() + cursor.size();
    const auto [stopped, error] = std::from_chars(cursor.data(), end, place);
    if (error == std::errc{} && stopped == end && place >= 0 && cursor[0] != '-') return place;
    throw InvalidCursor{"cursor: " + in_quotes(cursor) +
                        " is none that a listing gave; leave it out to begin anew"};
}

bool waits_for(const Target& target, const Entry& row, const Message& message,
               std::span<const Target> registry) {
    const auto is_ours = [&](const std::string& key) { return is_named(target, key); };
    const auto known = std::ranges::find_if(row.progress, is_ours, &Progress::target);
    if (known != row.progress.end()) return known->state == Progress::State::ready;
    return row.only.empty() ? wants(target, message, registry)
                            : std::ranges::any_of(row.only, is_ours);
}

OperationResult no_such_letter(const DeliveryRef& delivery) {
    return {.text = "no dead letter of " + to_string(delivery.message) + " for target \"" +
                    delivery.target + "\""};
}

std::vector<std::string> revived_with(std::span<const DeadLetter> letters,
                                      const std::string& target) {
    std::vector<std::string> chain{target};
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const std::string cause = chain[i];
        for (const DeadLetter& letter : letters) {
            const bool is_listed = std::ranges::find(chain, letter.target) != chain.end();
            if (!is_listed && letter.because == cause) chain.push_back(letter.target);
        }
    }
    return chain;
}

}  // namespace waybill::detail
