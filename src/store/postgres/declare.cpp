#include <algorithm>

#include "calls.hpp"

namespace waybill::postgres {
namespace {

std::optional<Duration> window_of(const BoxOptions& options) {
    return options.dedup_window == forever ? std::nullopt : std::optional{options.dedup_window};
}

void declare_box(Session session, const BoxDeclaration& box, std::uint32_t default_partitions) {
    const auto bytes_max = static_cast<std::int64_t>(box.options.body_bytes_max);
    if (session.boxes.box(session.db, box.name) != nullptr) {
        session.db.write(sql::update_box, box.name, window_of(box.options), bytes_max);
        return;
    }
    Rows rows = session.db.write(sql::insert_box, box.name, window_of(box.options), bytes_max);
    rows.next();
    const std::uint32_t asked = box.options.partitions;
    session.db.write(sql::insert_partitions, rows.number<std::int32_t>(0),
                     asked == 0 ? default_partitions : asked);
}

void register_target(Database& db, const Target& target) {
    const auto after_dead = static_cast<std::int16_t>(target.after_dead);
    const Rows changed = db.write(sql::put_target, target.box, target.key, target.matcher.type,
                                  target.matcher.source, target.matcher.tenant,
                                  texts_of(target.legacy_keys), target.after, after_dead);
    if (changed.count() > 0) db.write(sql::next_registry_version);
}

}  // namespace

void declare(Session session, std::span<const BoxDeclaration> boxes,
             std::span<const Target> targets, std::uint32_t default_partitions) {
    session.db.write(sql::lock_registry);
    for (const Target& target : targets) {
        const bool is_new =
            std::ranges::find(boxes, target.box, &BoxDeclaration::name) != boxes.end();
        if (is_new || session.boxes.box(session.db, target.box) != nullptr) continue;
        throw StoreError{Reaction::bad_data, "target \"" + target.key + "\": box \"" + target.box +
                                                 "\" is not declared; declare it first"};
    }
    for (const BoxDeclaration& box : boxes) declare_box(session, box, default_partitions);
    for (const Target& target : targets) register_target(session.db, target);
}

std::vector<Target> targets(Database& db) {
    std::vector<Target> all;
    Rows rows = db.read(sql::list_targets);
    while (rows.next()) {
        all.push_back({.box = rows.string(0),
                       .key = rows.string(1),
                       .matcher = {rows.string(2), rows.string(3), rows.string(4)},
                       .legacy_keys = rows.texts(5),
                       .after = rows.string(6),
                       .after_dead = rows.number<AfterDead>(7)});
    }
    return all;
}

bool forget_target(Database& db, const std::string& box, const std::string& key) {
    db.write(sql::lock_registry);
    if (db.write(sql::delete_target, box, key).count() == 0) return false;
    db.write(sql::next_registry_version);
    return true;
}

}  // namespace waybill::postgres
