#include "crash/books.hpp"

#include <algorithm>

namespace waybill::crash {
namespace {

constexpr std::size_t kBrokenMax = 20;
constexpr int kStrikes = 3;

}  // namespace

void Books::blame(const std::string& what) {
    if (broken_.size() < kBrokenMax) broken_.push_back(what);
}

void Books::hear(const Line& line) {
    switch (line.kind) {
        case Line::Kind::acknowledged:
            acknowledged_.emplace(line.message, Body::parse(line.body));
            if (!line.detail.empty()) ids_by_key_[line.detail].insert(line.message);
            break;
        case Line::Kind::run: started(line); break;
        case Line::Kind::well:
        case Line::Kind::failed:
        case Line::Kind::died: ended(line); break;
        case Line::Kind::done:
        case Line::Kind::dead: over(line); break;
        case Line::Kind::idle: break;
    }
}

void Books::over(const Line& line) {
    if (!told_over_.insert({line.message, line.target}).second) {
        blame("over twice: " + line.text());
    }
    // What died of too many crashes never ran again: its lane goes on all the same.
    for (auto& [name, lane] : lanes_) {
        if (lane.message == line.message && line.kind == Line::Kind::dead) lane.over = true;
    }
}

void Books::started(const Line& line) {
    ++runs_;
    const Delivery delivery{line.message, line.target};
    if (told_over_.contains(delivery)) blame("ran after it was told over: " + line.text());
    if (recorded_over_.contains(delivery)) blame("ran after it was recorded over: " + line.text());
    if (!running_.insert(delivery).second) blame("runs twice at once: " + line.text());
    if (line.detail != "1" && !fails_once(Body::parse(line.body))) {
        blame("a crash was counted as a failure: " + line.text());
    }
    enter_lane(line);
}

/// A lane goes forward only, and only when the one before is over.
void Books::enter_lane(const Line& line) {
    const Body body = Body::parse(line.body);
    if (!last_of_lane(body.box)) return;
    LaneState& lane = lanes_[{body.box, body.lane}];
    if (body < lane.current) blame("ran after a younger one of its lane: " + line.text());
    if (lane.current < body) {
        if (!lane.over) blame("ran while " + lane.current.text() + " was not over: " + line.text());
        lane.current = body;
        lane.message = line.message;
        lane.over = false;
    }
}

void Books::ended(const Line& line) {
    running_.erase({line.message, line.target});
    const Body body = Body::parse(line.body);
    if (line.kind == Line::Kind::well && last_of_lane(body.box) == line.target) {
        lanes_[{body.box, body.lane}].over = true;
    }
}

void Books::crashed() {
    cut_off_ += running_.size();
    running_.clear();
    for (auto& [name, lane] : lanes_) lane.over = true;
}

void Books::read_message(Catalogue& catalogue, const MessageSummary& summary) {
    const std::string id = to_string(summary.message->id);
    const Body body = Body::parse(summary.message->body);
    const bool is_over =
        summary.state == Filter::State::done || summary.state == Filter::State::dead;
    if (is_over && last_of_lane(body.box)) {
        LaneState& lane = lanes_[{body.box, body.lane}];
        lane.recorded = std::max(lane.recorded, body);
    }
    if (summary.state == Filter::State::done) {
        for (const std::string& target : targets_of(body.box)) recorded_over_.insert({id, target});
        return;
    }
    const auto detail = catalogue.get(summary.message->id);
    for (const DeadLetter& letter : detail->dead) recorded_over_.insert({id, letter.target});
    for (const Entry& entry : detail->open) {
        if (entry.solo_epoch != 0) ++struck_[id];
        for (const Progress& progress : entry.progress) {
            if (progress.state != Progress::State::ready) {
                recorded_over_.insert({id, progress.target});
            }
        }
    }
}

std::set<Uuid> Books::read_all(Catalogue& catalogue) {
    std::set<Uuid> ids;
    std::string cursor;
    do {
        const auto page = catalogue.browse({}, cursor, 500);
        for (const MessageSummary& summary : page.items) {
            ids.insert(summary.message->id);
            read_message(catalogue, summary);
        }
        cursor = page.next;
    } while (!cursor.empty());
    return ids;
}

void Books::inspect(Catalogue& catalogue) {
    const std::set<Uuid> there = read_all(catalogue);
    for (const auto& [id, body] : acknowledged_) {
        if (!there.contains(*parse_uuid(id))) {
            blame("acknowledged and lost: " + id + " " + body.text());
        }
    }
    for (const Delivery& delivery : told_over_) {
        if (!recorded_over_.contains(delivery)) {
            blame("told over and not recorded: " + delivery.first + " " + delivery.second);
        }
    }
    for (const auto& [key, ids] : ids_by_key_) {
        if (ids.size() > 1) blame("one key, several messages: " + key);
    }
    // A success that was told and not stored did not count: a lane goes on behind what is recorded.
    for (auto& [name, lane] : lanes_) lane.current = lane.recorded;
}

void Books::close(Catalogue& catalogue, const Rows& rows) {
    inspect(catalogue);
    for (const auto& [id, body] : acknowledged_) {
        if (const auto detail = catalogue.get(*parse_uuid(id))) close_message(id, body, *detail);
    }
    close_rows(catalogue, rows);
}

/// One row for each message of the box, acknowledged or not, and none without a message.
void Books::close_rows(Catalogue& catalogue, const Rows& rows) {
    std::map<std::string, std::map<std::string, int>> left = rows;
    std::string cursor;
    do {
        const auto page = catalogue.browse({}, cursor, 500);
        for (const MessageSummary& summary : page.items) {
            const std::string table = table_of(summary.message->box);
            if (table.empty() || summary.state != Filter::State::done) continue;
            const std::string id = to_string(summary.message->id);
            const int times = left[table][id];
            left[table].erase(id);
            if (times != 1) blame(id + " has " + std::to_string(times) + " rows in " + table);
        }
        cursor = page.next;
    } while (!cursor.empty());
    for (const auto& [table, ids] : left) {
        for (const auto& [id, times] : ids) {
            if (!struck_.contains(id)) blame(id + " has a row in " + table + " and is not done");
        }
    }
}

/// Done, or dead as it was meant to be, or dead because too many crashes found it alone in flight.
void Books::close_message(const std::string& id, const Body& body, const MessageDetail& detail) {
    std::string reasons;
    for (const DeadLetter& letter : detail.dead) reasons += " " + letter.reason;
    const bool crash_loop = reasons.find("crash loop") != std::string::npos;
    crash_loops_ += crash_loop;
    const Filter::State expected = is_poison(body) ? Filter::State::dead : Filter::State::done;
    const bool as_meant = detail.summary.state == expected && detail.open.empty();
    if (crash_loop ? struck_[id] < kStrikes : !as_meant) {
        blame("ended in state " + std::to_string(static_cast<int>(detail.summary.state)) + ": " +
              id + " " + body.text() + reasons);
    }
}

}  // namespace waybill::crash
