#include "letters.hpp"

namespace waybill::postgres {

DeadLetter read_letter(const Rows& rows, int first) {
    return {.message = rows.uuid(first),
            .sequence = rows.integer(first + 1),
            .target = rows.string(first + 2),
            .reason = rows.string(first + 3),
            .failures = rows.number<std::uint32_t>(first + 4),
            .requeues = rows.number<std::uint32_t>(first + 5),
            .because = rows.string(first + 6),
            .at = rows.time(first + 7)};
}

std::vector<DeadLetter> letters_of(Database& db, Sequence message) {
    std::vector<DeadLetter> all;
    Rows rows = db.read(sql::letters_of_message, message);
    while (rows.next()) all.push_back(read_letter(rows));
    return all;
}

void erase_letter(Database& db, Sequence message, const std::string& target) {
    db.write(sql::delete_dead, message, target);
    db.write(sql::release_finished, message);
}

}  // namespace waybill::postgres
