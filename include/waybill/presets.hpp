#pragma once

#include "waybill/box.hpp"
#include "waybill/target.hpp"

/// Boxes that behave as people expect from where they come from: `inbox` and `outbox` are our own
/// advice; the others take over the settings of five published libraries, so that moving changes
/// little at once. Each is a plain value: copy it and change what you like.
///
/// What none of them takes over, and what stands in for it:
/// - A lease per delivery: an instance owns partitions and shows once a second that it lives. A crash
///   costs seconds instead of minutes, and a late worker's results are refused.
/// - A failure budget that all targets of a message share (`message_max_failures`): one slow target
///   used up the attempts of the others. Each target has its own.
/// - A tenant filter on an instance: partitions are cut by lane, not by tenant. Give a tenant that
///   needs instances of its own a box of its own ("orders-acme").
/// - Retrying at once: nothing is retried sooner than `delay_floor`.
/// - Dropping what dies: dead letters stay unless the library's own retention removed them.
/// - Targets fixed when a message arrives, or looked up at each try: a message is done when all
///   *registered* matching targets are, which is safe in a rolling deploy.
/// Lane and dedup key are the caller's: build the lane from the parts named below.
namespace waybill {

/// The settings of a box and of its targets.
struct Preset {
    enum class Arrangement {
        independent,  ///< no target waits for another
        chain,        ///< each runs `after` the one registered before it
    };
    BoxOptions box{};
    /// For every target of the box.
    TargetOptions target{};
    Arrangement arrangement = Arrangement::independent;
    /// For every link of a chain.
    AfterDead after_dead = AfterDead::block;

    bool operator==(const Preset&) const = default;
};

namespace presets {

/// The defaults: strict lanes, dead letters kept, what nobody handles yet is parked.
Preset inbox();

/// As inbox, but a message nobody subscribes to is done: most events have no subscriber, and a new
/// one should not receive a year of history.
Preset outbox();

/// Lane: tenant, provider, entity. Dedup key: provider and event id, else the SHA-256 of the body.
/// Retention is that of its purge job; it ran only when switched on, otherwise everything stayed:
/// set the three durations to forever for that. It had no timeout; ours is its lease. A dead handler
/// does not stop the chain, as before; AfterDead::block would.
Preset inbox_net();

/// Lane: tenant, user, entity. Its limit of five retries were six attempts. Four subscriptions of
/// each of ten messages ran at a time; we count deliveries, forty of them.
Preset outbox_net();

/// The transactional consumer: runs inside the store's transaction, and only the dedup record stays.
/// Lane: its partition key. Retries were the broker's business; here they are ours, with our
/// defaults. Its order held within a process; ours holds across instances and restarts. A type
/// nobody consumes was acknowledged and dropped; ours is parked.
Preset vulthil_inbox();

/// One target per destination, three attempts, no order. Its immediate retry burnt all attempts in
/// milliseconds during an outage; raise target.retry.backoff once nothing depends on it.
Preset vulthil_outbox();

/// Dedup key: source and id (its id alone let two sources collide). One active processor per
/// context became ownership per partition. Its handler had no timeout; ours is its stuck threshold.
Preset ratatoskr();

/// Lane: group id, or none outside FIFO inboxes. Dedup ids were off until given an interval; set
/// box.dedup_window to it. Dead letters were dropped unless switched on; here they are kept. For its
/// batched behaviours set target.calls = Calls::batch. A failed message could be overtaken within
/// its group; Lanes::strict mends that.
Preset rh_inbox();

}  // namespace presets
}  // namespace waybill
