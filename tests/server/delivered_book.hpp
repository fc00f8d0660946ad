#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/recorder.hpp"
#include "server/store_access.hpp"
#include "waybill/uuid.hpp"

namespace waybill::test {

/// What a store has recorded as delivered, message by message and subscription by subscription: also of messages that are
/// still open for somebody else. Nothing of it may be received again.
///
/// Thread safety: none.
class DeliveredBook {
public:
    DeliveredBook(std::string store, std::map<std::string, std::string> path_of_target)
        : store_(std::move(store)), path_of_target_(std::move(path_of_target)) {}

    /// Whatever comes after this returned is held against what the store says now.
    void look(const Recorder& recorder) {
        const StoreHandle store = server::open_store(store_, {})->connect();
        std::set<Delivered> now;
        for (const MessagePtr& message : all(*store.catalogue(), Filter::State::done)) {
            for (const auto& [target, path] : path_of_target_) {
                now.emplace(to_string(message->id), path);
            }
        }
        for (const MessagePtr& message : all(*store.catalogue(), Filter::State::open)) {
            // It may have been finished meanwhile; then it is in the next look.
            for (const Entry& entry : detail_of(*store.catalogue(), message->id).open) {
                for (const Progress& progress : entry.progress) {
                    if (progress.state != Progress::State::done) continue;
                    in_part_.insert(
                        *now.emplace(to_string(message->id), path_of_target_.at(progress.target))
                             .first);
                }
            }
        }
        const std::size_t receipts = recorder.count();
        for (const Delivered& one : now) delivered_.try_emplace(one, receipts);
    }

    /// Received although it had been recorded.
    std::vector<std::string> received_again(const std::vector<Receipt>& receipts) const {
        std::vector<std::string> again;
        for (std::size_t i = 0; i < receipts.size(); ++i) {
            const auto found = delivered_.find({receipts[i].message, receipts[i].path});
            if (found == delivered_.end() || i < found->second) continue;
            again.push_back(receipts[i].path + " " + receipts[i].body);
        }
        return again;
    }
    std::size_t size() const { return delivered_.size(); }
    /// Seen as done for one subscription while another still waited.
    std::size_t in_part() const { return in_part_.size(); }

private:
    /// Message and path.
    using Delivered = std::pair<std::string, std::string>;

    static std::vector<MessagePtr> all(Catalogue& catalogue, Filter::State state) {
        constexpr std::uint32_t kRows = 1'000;
        std::vector<MessagePtr> messages;
        std::string cursor;
        do {
            auto page = catalogue.browse({.state = state}, cursor, kRows);
            for (MessageSummary& item : page.items) messages.push_back(std::move(item.message));
            cursor = page.next;
        } while (!cursor.empty());
        return messages;
    }
    static MessageDetail detail_of(Catalogue& catalogue, const Uuid& id) {
        return catalogue.get(id).value_or(MessageDetail{});
    }

    std::string store_;
    std::map<std::string, std::string> path_of_target_;
    /// And how many receipts there were when it was seen.
    std::map<Delivered, std::size_t> delivered_{};
    std::set<Delivered> in_part_{};
};

}  // namespace waybill::test
