#include <algorithm>
#include <numeric>
#include <set>

#include "calls.hpp"
#include "error_map.hpp"

namespace waybill::postgres {
namespace {

using Status = AppendResult::Status;

/// Where a message goes.
struct Home {
    PartitionId partition = 0;
    /// Of its lane; none has no number.
    std::optional<std::int64_t> lane{};
};

Home home_of(const Message& message, const BoxRow& box) {
    if (message.lane.empty()) return {box.partition_of(message)};
    const std::int64_t number = lane_number(message.lane);
    // Its slot is the first ten bits of the same hash.
    return {box.partition_at(static_cast<std::uint32_t>(static_cast<std::uint64_t>(number) >> 54)),
            number};
}

/// The columns of a batch.
struct Batch {
    Uuids ids{};
    Ints partitions{};
    Longs occurred_at{};
    Longs not_before{};
    Texts types{};
    Texts sources{};
    Texts content_types{};
    Texts tenants{};
    Texts users{};
    Texts correlation_ids{};
    Texts lanes{};
    Longs lane_numbers{};
    Texts dedup_keys{};
    Texts collapse_keys{};
    Texts attributes{};
    Blobs bodies{};
    Texts scopes{};
    Longs windows{};
    Blobs hashes{};

    void add(const Append& item, const Home& home) {
        const Message& m = *item.message;
        ids.add(m.id);
        partitions.add(home.partition);
        occurred_at.add(m.occurred_at);
        not_before.add(m.not_before);
        types.add(m.type);
        sources.add(m.source);
        content_types.add(m.content_type);
        tenants.add(m.tenant);
        users.add(m.user);
        correlation_ids.add(m.correlation_id);
        lanes.add(m.lane);
        lane_numbers.add(home.lane);
        dedup_keys.add(m.dedup_key);
        collapse_keys.add(m.collapse_key);
        attributes.add(m.attributes.empty() ? std::string{} : attributes_literal(m.attributes));
        bodies.add(m.body);
        scopes.add(item.dedup_scope);
        // What ends after the end of time never ends.
        constexpr Duration too_long = std::chrono::hours{24 * 365 * 10'000};
        windows.add(item.dedup_window >= too_long ? std::nullopt
                                                  : std::optional{item.dedup_window});
        hashes.add(item.body_hash);
    }

    /// What nobody says anything in costs the server as much as what everybody does, unless it is left out.
    void leave_out_blanks() {
        if (lanes.is_blank()) lane_numbers.clear();
        if (dedup_keys.is_blank()) {
            scopes.clear();
            windows.clear();
            hashes.clear();
        }
        for (Texts* column : {&sources, &content_types, &tenants, &users, &correlation_ids, &lanes,
                              &dedup_keys, &collapse_keys, &attributes}) {
            if (column->is_blank()) column->clear();
        }
    }
};

using Rounds = std::vector<std::vector<std::size_t>>;
enum class Rule : std::uint8_t { as_given, firsts_first };

/// Which items go into one statement: what it answers must not depend on what it does, so that none of them shares an id
/// or a key with another. With the first of each in the first one all keys are locked in their order by one statement,
/// and two batches do not wait for each other.
Rounds rounds_of(std::span<const Append> batch, Rule rule) {
    std::vector<std::size_t> left(batch.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    Rounds rounds;
    while (!left.empty()) {
        std::set<Uuid> ids;
        std::set<std::pair<std::string_view, std::string_view>> keys;
        std::vector<std::size_t> later;
        std::vector<std::size_t>& round = rounds.emplace_back();
        for (const std::size_t i : left) {
            const Message& message = *batch[i].message;
            const std::pair<std::string_view, std::string_view> key{batch[i].dedup_scope,
                                                                    message.dedup_key};
            const bool is_repeat =
                ids.contains(message.id) || (!message.dedup_key.empty() && keys.contains(key));
            if (is_repeat || (rule == Rule::as_given && !later.empty())) {
                later.push_back(i);
                continue;
            }
            ids.insert(message.id);
            keys.insert(key);
            round.push_back(i);
        }
        left = std::move(later);
    }
    return rounds;
}

/// The sequences of a batch of which nothing can be known; nothing if something is.
std::optional<Rows> append_new(Database& db, const Batch& b) {
    // In somebody's transaction a violation would be its end.
    if (!b.dedup_keys.is_blank() || db.in_transaction()) return std::nullopt;
    try {
        return db.write(sql::append_new, b.ids, b.partitions, b.occurred_at, b.not_before, b.types,
                        b.sources, b.content_types, b.tenants, b.users, b.correlation_ids, b.lanes,
                        b.lane_numbers, b.collapse_keys, b.attributes, b.bodies);
    } catch (const ServerError& error) {
        if (!error.is_known()) throw;
        return std::nullopt;
    }
}

void append_round(Database& db, std::span<const Append> batch, std::span<const Home> homes,
                  std::span<const std::size_t> round, std::vector<AppendResult>& results) {
    Batch b;
    for (const std::size_t i : round) b.add(batch[i], homes[i]);
    b.leave_out_blanks();
    const auto fresh = [&](std::size_t i, Sequence sequence, std::int64_t transaction) {
        return AppendResult{.id = batch[i].message->id,
                            .sequence = sequence,
                            .partition = homes[i].partition,
                            .transaction = static_cast<std::uint64_t>(transaction)};
    };
    if (std::optional<Rows> rows = append_new(db, b)) {
        for (const std::size_t i : round) {
            rows->next();
            results[i] = fresh(i, rows->integer(0), rows->integer(1));
        }
        return;
    }
    Rows rows = db.write(sql::append, b.ids, b.partitions, b.occurred_at, b.not_before, b.types,
                         b.sources, b.content_types, b.tenants, b.users, b.correlation_ids, b.lanes,
                         b.lane_numbers, b.dedup_keys, b.collapse_keys, b.attributes, b.bodies,
                         b.scopes, b.windows, b.hashes, !db.in_transaction());
    for (std::size_t n = 0; rows.next(); ++n) {
        const std::size_t i = round[n];
        if (!rows.is_null(1)) {
            results[i] = fresh(i, rows.integer(1), rows.integer(5));
        } else {
            results[i] = {.status = rows.flag(3) ? Status::duplicate : Status::conflict,
                          .id = rows.uuid(2),
                          .first_is_dead = rows.flag(4)};
        }
    }
}

std::vector<AppendResult> append_once(Database& db, std::span<const Append> batch,
                                      std::span<const Home> homes) {
    std::vector<AppendResult> results(batch.size());
    const auto append_all = [&](const Rounds& rounds) {
        for (const auto& round : rounds) append_round(db, batch, homes, round, results);
    };
    const Rounds as_given = rounds_of(batch, Rule::as_given);
    // One statement is one commit, and one round trip. Who is inside a transaction shares its fate.
    if (db.in_transaction() || as_given.size() <= 1) {
        append_all(as_given);
        return results;
    }
    const auto append_and_commit = [&](const Rounds& rounds, const auto& is_good) {
        Transaction transaction{db};
        append_all(rounds);
        if (!is_good()) return false;
        transaction.commit();
        return true;
    };
    // A repeat is nearly always a duplicate. One that is fresh, for what it repeats was itself known by its id or key,
    // must not be behind what came after it.
    const Rounds firsts_first = rounds_of(batch, Rule::firsts_first);
    const auto no_repeat_is_fresh = [&] {
        const auto is_fresh = [&](std::size_t i) { return results[i].status == Status::fresh; };
        return std::none_of(firsts_first.begin() + 1, firsts_first.end(), [&](const auto& round) {
            return std::ranges::any_of(round, is_fresh);
        });
    };
    if (!append_and_commit(firsts_first, no_repeat_is_fresh)) {
        append_and_commit(as_given, [] { return true; });
    }
    return results;
}

}  // namespace

std::vector<AppendResult> append(Session session, std::span<const Append> batch) {
    std::vector<Home> homes;
    homes.reserve(batch.size());
    const BoxRow* box = nullptr;
    for (const Append& item : batch) {
        const std::string& name = item.message->box;
        if (box == nullptr || box->name != name) box = session.boxes.box(session.db, name);
        if (box == nullptr) {
            throw StoreError{Reaction::bad_data,
                             "box \"" + name + "\" is not declared; declare it before appending"};
        }
        homes.push_back(home_of(*item.message, *box));
    }
    // Inside somebody's transaction an error has ended it; only its owner can begin again.
    const int tries_max = session.db.in_transaction() ? 1 : collision_tries_max;
    for (int tries = 1;; ++tries) {
        try {
            return append_once(session.db, batch, homes);
        } catch (const ServerError& error) {
            if (!error.is_collision() || tries >= tries_max) throw;
        }
    }
}

}  // namespace waybill::postgres
