#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/wake_list.hpp"
#include "instances.hpp"
#include "keeper.hpp"
#include "lanes.hpp"
#include "owner_lock.hpp"
#include "recent.hpp"
#include "waybill/sqlite.hpp"
#include "write_queue.hpp"

namespace waybill::sqlite {

/// A configured connection of ours to the file.
enum class Role {
    writer,
    reader,
    keeper,   ///< copies the journal into the file
    handler,  ///< is given to inline handlers
};
std::unique_ptr<Session> open_session(const std::string& path, Role role, const Options& options);

/// What all connections of one process to one file share.
class Shared {
public:
    Shared(const std::string& path, Clock& clock, const Options& options);

    StoreTime now() { return clock.wall(); }
    /// For people: what this is.
    std::string description() const;
    std::unique_ptr<Session> open_reader() { return open_session(path, Role::reader, options); }

    const Options options;
    Clock& clock;
    const std::string path;
    OwnerLock lock;
    WakeList wakes{};
    Instances instances{};
    LaneIndex lanes{};
    RecentMessages recent{};

private:
    std::unique_ptr<Session> writer_;

public:
    WriteQueue queue;

    /// Only for who has the queue's exclusive turn.
    Session& handler_session();

private:
    std::unique_ptr<Session> handler_{};
    /// Last, so that its thread ends first.
    Keeper keeper_;
};

}  // namespace waybill::sqlite
