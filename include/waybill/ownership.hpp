#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/target.hpp"
#include "waybill/time.hpp"
#include "waybill/uuid.hpp"

/// Who is alive, who owns what, and the token that proves it.
namespace waybill {

/// A store's number for one partition: a range of slots of one box.
using PartitionId = std::uint32_t;

/// What a write must carry to be believed. An epoch alone is not enough: after a lossy failover the
/// counter goes back and is issued twice.
struct Token {
    Uuid owner{};
    std::uint64_t epoch = 0;
    /// The store's timeline; a promoted standby or a restored backup has another one.
    std::string generation{};

    bool operator==(const Token&) const = default;
};

/// A partition as every instance sees it with each beat.
struct PartitionState {
    enum class Owner {
        none,   ///< given back, or never owned
        alive,  ///< its owner's lease lives
        dead,   ///< its owner was silent for longer than its lease (or lost its file lock)
    };
    PartitionId id = 0;
    std::string box{};
    std::uint32_t first_slot = 0;
    std::uint32_t last_slot = 0;
    Owner state = Owner::none;
    Token token{};
    /// state none: the instance it was given to, nil for anyone.
    Uuid heir{};

    bool operator==(const PartitionState&) const = default;
};

/// A delivery that runs somewhere, for people to see.
struct RunningDelivery {
    Uuid message{};
    std::string target{};
    Duration since{};

    bool operator==(const RunningDelivery&) const = default;
};

/// What an instance says of itself once a second.
struct InstanceState {
    Uuid incarnation{};
    std::string name{};
    Duration lease = std::chrono::seconds{5};
    /// Leaves on purpose: what it still runs is no unclean end.
    bool stopping = false;
    /// A run-once host: takes what is free, is not counted among the live ones.
    bool guest = false;
    /// Deliveries it could start at once and has no work for.
    std::uint32_t hungry = 0;
    std::vector<std::string> boxes{};
    /// `target_number(box, key)` of each target it has code for, sorted.
    std::vector<std::uint64_t> executes{};
    /// The oldest ones, at most 64.
    std::vector<RunningDelivery> running{};
    std::uint64_t waiting = 0;
    /// What the store refuses it for a while now, since when and why, for people; empty: nothing.
    std::string refused{};
    /// The registry version it knows; the reply brings the registry if there is a newer one.
    std::uint64_t registry_version = 0;
};

/// A stable number for (box, target key), for compact lists.
std::uint64_t target_number(std::string_view box, std::string_view key);

/// Another live instance.
struct Peer {
    Uuid incarnation{};
    std::string name{};
    bool stopping = false;
    bool guest = false;
    std::uint32_t hungry = 0;
    std::vector<std::string> boxes{};
    std::vector<std::uint64_t> executes{};
    std::vector<RunningDelivery> running{};
    std::uint64_t waiting = 0;
};

/// The world as the store sees it at the moment of a beat.
struct BeatReply {
    StoreTime now{};
    std::string generation{};
    /// All live instances, the asking one included.
    std::vector<Peer> peers{};
    /// Partitions of the boxes the instance attends.
    std::vector<PartitionState> partitions{};
    std::vector<std::string> paused_boxes{};
    std::uint64_t registry_version = 0;
    /// All registered targets of the attended boxes; only when the version is newer than the asked one.
    std::vector<Target> registry{};
};

/// Ask for a partition as it was last seen; refused if it changed hands since, or if its owner
/// turns out to be alive. One's own partition may be taken again (a new epoch, nothing unclean).
struct TakeRequest {
    PartitionId partition = 0;
    Token seen{};
};

/// A partition that is ours from now on, and how its last owner ended.
struct Taken {
    PartitionId partition = 0;
    Token token{};
    /// The previous owner died in the middle of it (as opposed to giving it back or stopping).
    bool unclean = false;
    /// Unclean ends in a row, this one included; starts anew after `crash_quiet` without one.
    std::uint32_t unclean_ends = 0;
    /// Time since the last unclean end.
    Duration quiet_for{};
};

/// Five quiet minutes and an unclean end is forgotten.
inline constexpr Duration crash_quiet = std::chrono::minutes{5};

/// A partition to give back, with the proof that it is ours to give.
struct GiveRequest {
    PartitionId partition = 0;
    Token token{};
    /// Nil: to anyone.
    Uuid heir{};
};

}  // namespace waybill
