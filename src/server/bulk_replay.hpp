#pragma once

#include <cstdint>
#include <string>

#include "server/operations.hpp"
#include "waybill/catalogue.hpp"

/// Orders to run again what has ended, counted and resumable as those over dead letters.
namespace waybill::server {

struct ReplayOrder {
    /// Of messages; its target does not count.
    Filter filter{};
    /// Who gets them again.
    std::string target{};
    /// Messages per second; 0: as many as there are.
    double rate = 0.0;
};

/// Goes on with `operation` over the messages that match, oldest first, and handles at most
/// `messages_max` more and no more than the rate allows by now. What was appended after the order is
/// left alone. Throws BadQuery.
void replay_matching(Catalogue& catalogue, const ReplayOrder& order, std::uint32_t messages_max,
                     StoreTime now, Operation& operation);

/// How long to wait until it is worth asking again; nothing: the rate does not stand in the way.
Duration wait_of(const ReplayOrder& order, StoreTime now, const Operation& operation);

void replay_one(Catalogue& catalogue, const Uuid& message, const std::string& target,
                Operation& operation);

}  // namespace waybill::server
