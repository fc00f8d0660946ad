#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crash/log_line.hpp"
#include "crash/workload.hpp"
#include "waybill/catalogue.hpp"

namespace waybill::crash {

/// What was promised and what happened, held against each other. Knows nothing but what the child told
/// before it died and what its file says afterwards.
class Books {
public:
    /// In the order it was told.
    void hear(const Line& line);
    /// The child is dead.
    void crashed();
    /// What is recorded now: nothing of it may run again, and nothing acknowledged may be missing.
    void inspect(Catalogue& catalogue);
    /// How often each message has a row in a table of the application's own.
    using Rows = std::map<std::string, std::map<std::string, int>>;
    /// All is handled: what became of everything.
    void close(Catalogue& catalogue, const Rows& rows);

    /// What was broken, in words. Empty: every promise was kept.
    const std::vector<std::string>& broken() const { return broken_; }
    /// Deliveries that ended as dead letters because their process died too often.
    int crash_loops() const { return crash_loops_; }
    std::size_t acknowledged() const { return acknowledged_.size(); }
    std::uint64_t runs() const { return runs_; }
    /// Runs that a crash cut off.
    std::uint64_t cut_off() const { return cut_off_; }

private:
    using Delivery = std::pair<std::string, std::string>;
    struct LaneState {
        /// Started last, and whether it has come to its end.
        Body current{};
        std::string message{};
        bool over = true;
        /// The youngest that the file says is over.
        Body recorded{};
    };

    void started(const Line& line);
    void enter_lane(const Line& line);
    void ended(const Line& line);
    void close_message(const std::string& id, const Body& body, const MessageDetail& detail);
    void close_rows(Catalogue& catalogue, const Rows& rows);
    void blame(const std::string& what);
    void over(const Line& line);
    void read_message(Catalogue& catalogue, const MessageSummary& summary);
    std::set<Uuid> read_all(Catalogue& catalogue);

    std::map<std::string, Body> acknowledged_{};
    std::map<std::string, std::set<std::string>> ids_by_key_{};
    /// Durably over, by the engine's word and by the file's.
    std::set<Delivery> told_over_{};
    std::set<Delivery> recorded_over_{};
    std::set<Delivery> running_{};
    /// How often the file was found with a message started alone and not over: its process died of it,
    /// for all anybody knows.
    std::map<std::string, int> struck_{};
    std::map<std::pair<std::string, int>, LaneState> lanes_{};
    std::vector<std::string> broken_{};
    int crash_loops_ = 0;
    std::uint64_t runs_ = 0;
    std::uint64_t cut_off_ = 0;
};

}  // namespace waybill::crash
