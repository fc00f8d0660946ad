#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include "core/engine/brought.hpp"
#include "core/engine/deadlines.hpp"
#include "core/engine/handed.hpp"
#include "core/engine/node_pool.hpp"
#include "core/engine/rests.hpp"
#include "core/engine/roster.hpp"
#include "core/engine/running.hpp"
#include "core/engine/settle_pace.hpp"
#include "core/engine/suspects.hpp"
#include "core/siphash.hpp"

namespace waybill::engine {

/// The state machine behind Engine. One class, because every rule reads the same state; one file per rule.
class Machine {
public:
    Machine(Config config, Random& random, Observer& observer);

    void start(LocalTime now);
    void stop(LocalTime now);
    void on_tick(LocalTime now);
    void on_wake(LocalTime now);
    void on_beat(LocalTime now, BeatAnswer answer);
    void on_channel(LocalTime now, ChannelReply reply);
    void on_outcomes(LocalTime now, std::span<Completed> completed);
    void on_appended(LocalTime now, std::span<const HandOver> messages);
    Commands take_commands();
    LocalTime next_tick() const;
    bool is_idle() const;
    bool is_stopped() const { return stopped_; }
    std::uint64_t overtaking_reads() const { return brought_.reads(); }
    Status status() const;
    const Uuid& incarnation() const { return self_; }

private:
    // machine.cpp: the loop
    void begin(LocalTime now);
    void turn(LocalTime now);
    bool take_handed(const HandOver& handed, Via via);
    bool side_read_is_out() const;
    void next_channel_call();
    void send(ChannelCall call);
    void on_channel_failure(const ChannelCall& call, const Failure& failure);
    void emit(Event event) { observer_.on_event(event); }
    void emit(Event::Kind kind, const Work& work, std::string_view target = {},
              std::string_view text = {}, std::uint64_t count = 0);
    StoreTime store_now() const { return StoreTime{now_.time_since_epoch() + store_offset_}; }
    LocalTime local_of(StoreTime time) const;
    std::uint64_t lane_hash_of(const BoxState& box, const Message& message) const;
    BoxState& box_of(const Work& work) { return *boxes_[work.partition->box]; }
    const BoxState& box_of(const Work& work) const { return *boxes_[work.partition->box]; }
    Partition* find_partition(PartitionId id);

    // owning.cpp
    void beat_if_due();
    void beat_succeeded(BeatReply reply);
    void beat_failed(const Failure& failure);
    void learn_registry(const BeatReply& reply);
    void drop_lost_partitions(const BeatReply& reply);
    void confirm(Partition& partition);
    void ask_for_partitions();
    void offer_partitions();
    void on_taken(const std::vector<Taken>& taken);
    void drop_partition(PartitionId id, Event::Kind why);
    void void_everything(std::string_view why);
    void give_idle_partitions();
    bool outstanding_take() const;
    bool may_work() const;
    bool may_start() const;
    std::uint32_t in_flight_limit() const;
    InstanceState instance_state() const;
    void resign_if_hopeless();

    // reading.cpp
    std::optional<ReadRequest> next_read();
    void note_read(const ReadRequest& request);
    bool is_caught_up(const Partition& partition) const;
    void poll_soon();
    bool read_increment(ReadRequest& request);
    bool read_lanes(ReadRequest& request);
    bool read_due(ReadRequest& request);
    bool due_lags() const;
    bool read_scan(ReadRequest& request);
    bool read_parked(ReadRequest& request);
    bool read_reconcile(ReadRequest& request);
    bool read_row(ReadRequest& request);
    void on_page(const ReadRequest& request, ReadPage page);
    void on_increment(ReadPage& page);
    void prove_lanes(std::uint64_t before);
    void on_scan(const ReadRequest& request, ReadPage& page);
    void on_due(const ReadRequest& request, ReadPage& page);
    void on_lanes(ReadPage& page);
    void take_lane(Partition& partition, const LaneRead& read, ReadPage& page);
    void on_parked(const ReadRequest& request, ReadPage& page);
    void on_reconcile(const ReadRequest& request, ReadPage& page);
    void on_row(ReadPage& page);
    void read_everything_again();
    Partition* current(PartitionId id);

    // loading.cpp
    Loaded load(Partition& partition, Entry& entry, Via via, std::uint32_t only_chain = any_chain);
    void route(const BoxState& box, const Entry& entry, std::vector<Delivery>& deliveries) const;
    Loaded take_unrouted(Partition& partition, Entry& entry, Via via);
    void take_in(Work& work, const std::vector<std::uint32_t>& chains, Via via);
    Loaded unpark(Partition& partition, Entry& entry);
    void unparked(Work& work);
    bool wants_chain(const Partition& partition, Sequence sequence, bool halted,
                     const std::vector<Delivery>& deliveries, std::uint32_t chain, Via via) const;
    bool lane_admits(Partition& partition, Sequence sequence, StoreTime due,
                     std::uint64_t lane_hash, std::uint32_t chain, Via via);
    bool comes_back(const BoxState& box, const Entry& entry,
                    const std::vector<Delivery>& deliveries) const;
    bool make_room(const Entry& entry, bool far, bool holds_lane);
    Loaded refuse(Partition& partition, const Entry& entry,
                  const std::vector<std::uint32_t>& chains, Via via);
    void collapse_if_pointless(Work& work);
    std::uint64_t collapse_hash(const Message& message) const;
    Work& make_work(Partition& partition, Entry& entry, std::vector<Delivery>& deliveries,
                    std::uint64_t lane_hash);
    void bury_orphans(Work& work);
    void judge_solo_start(Work& work);
    void attach(Work& work, std::uint32_t chain);
    void detach(Work& work, std::uint32_t chain);
    void collapse_older(Work& work);
    void retire(Work& work);
    void free_lanes(Work& work);
    void remove(Work& work);
    bool is_known(const Partition& partition, const Entry& entry) const;
    void reroute(Work& work);
    void follow_registry(Work& work, std::uint32_t index);
    static bool is_unmatched(const Work& work);
    void give_up_unmatched(Work& work);
    void bury_unrouted(Work& work, std::string reason);
    void note_foreign(Partition& partition, const BoxState& box,
                      const std::vector<Delivery>& deliveries);

    // lanes.cpp
    void enter(Work& work);
    bool enter_lane(Work& work, std::uint32_t chain);
    void leave_lane(Work& work, std::uint32_t chain);
    void block_lane(Partition& partition, std::uint64_t key, std::uint32_t chain, Sequence head,
                    const std::string& text);
    void lift_block(Partition& partition, std::uint64_t key, Sequence head);
    Lane& lane_at(Partition& partition, std::uint64_t key);
    void forget_lane(Partition& partition, std::uint64_t key);
    void advance(Work& work, std::uint32_t chain);
    void advance_after_run(Work& work, std::uint32_t chain);
    bool wants_more(const Partition& partition, const Lane& lane) const;
    bool may_run(const Work& work, const Delivery& delivery) const;
    bool predecessor_done(const Work& work, const Delivery& delivery) const;
    bool predecessor_is_terminal(const Work& work, const Delivery& delivery) const;
    bool chain_is_open(const Work& work, std::uint32_t chain) const;
    bool chain_is_halted(const Work& work, std::uint32_t chain) const;
    /// After anything that may have moved a lane: start its head, read on, or forget it.
    void settle_lane(Partition& partition, std::uint64_t key, std::uint32_t chain,
                     const std::string& text);
    void set_timer(Work& work, std::uint32_t delivery, StoreTime due);
    void clear_timer(Delivery& delivery);
    void fire_timers();
    StoreTime row_due(const Work& work) const;

    // turns.cpp
    void push_ready(Work& work, std::uint32_t delivery);
    void join_rotation(std::uint32_t box, std::uint32_t target);
    bool take_turn_again(TargetPlace place, bool started);
    void wake_waiting(Places& places);
    void wake_bound(Places& places);
    void run_ended(const RunState& run);
    bool rests(const TargetState& target) const;
    void wake_rested();
    void give_places(BoxState& box);
    static void follow_routes(BoxState& box);
    void follow_families();
    bool has_room_for_one(TargetPlace place);
    bool take_rate_token(TargetState& target, const TargetOptions& options, std::uint32_t live);

    // starting.cpp
    void start_runs();
    bool start_one(std::uint32_t box, std::uint32_t target, std::uint32_t limit);
    bool somebody_is_hungry() const;
    static std::uint64_t kept_here(const ReadyQueue::Item& item);
    bool still_startable(const ReadyQueue::Item& item);
    void launch(std::uint32_t box, std::uint32_t target, std::span<const ReadyQueue::Item> items);
    void extend_batch(const TargetOptions& options, ReadyQueue& ready,
                      std::vector<ReadyQueue::Item>& items);
    void begin_solo(Work& work, std::uint32_t delivery);
    void launch_solo();

    // outcomes.cpp
    void end_run(Completed& completed);
    void time_out_runs();
    void time_out(RunId id, RunState& run);
    void make_ghost(RunState& run, bool timed_out);
    bool is_inline(const RunState& run) const;
    bool run_is_strict(const RunState& run) const;
    void ghost_returned(const RunState& run);
    void end_part(const RunState& run, const RunState::Part& part, std::optional<RunResult> result);
    void apply(Work& work, Delivery& delivery, const RunState& run, const RunResult& result);
    void fail(Work& work, Delivery& delivery, const Fail& failure, Duration took,
              std::string_view detail);
    void release(Work& work, Delivery& delivery, Duration pause = delay_floor);
    void release_after_trouble(Work& work, Delivery& delivery);
    /// `because`: the predecessor it dies with. An operator's cancel does not halt the lane.
    void kill(Work& work, Delivery& delivery, std::string_view reason,
              std::string_view because = {}, bool may_halt = true);
    void log_attempt(Work& work, const Delivery& delivery, Attempt::Result result, Duration took,
                     std::string_view error, std::string_view detail);
    std::string_view target_key(const Work& work, const Delivery& delivery) const;
    std::uint64_t delivery_ghost(const Uuid& message, std::uint32_t target) const;
    std::uint64_t lane_ghost(PartitionId partition, std::uint64_t lane) const;

    // settling.cpp
    void mark_dirty(Work& work, bool somebody_waits = true);
    std::size_t settle_rows() const;
    std::optional<SettleBatch> next_settle();
    Settlement settlement_of(Work& work);
    void on_settled(const SettleReply& reply);
    void conclude_settled();
    void settled(Work& work);
    void go_on(Work& work);
    void settle_failed(const Failure& failure);
    void blame(Work& culprit, const Failure& failure);
    void unsend();

    // refusing.cpp
    void note_refusal(const ChannelCall& call, const Failure& failure);
    void note_accepted(const ChannelCall& call);
    bool may_be_one_row(const Failure& failure) const;
    void note_beat_refused(const Failure& failure);
    void note_beat_accepted();
    void forget_void_refusal();
    std::string refused() const;

    // window.cpp
    bool has_room_for(std::uint32_t bytes) const;
    bool has_slack();
    std::uint64_t memory_used() const;
    std::uint64_t blocked_bytes() const;
    bool is_far(StoreTime due, Sequence sequence) const;
    bool is_quiet(const Work& work) const;
    bool is_quiet(const Work& work, std::uint32_t chain) const;
    void relieve();
    void evict_far();
    bool is_evictable(const Work& work) const;
    void evict(Work& work);
    void shed_unsure();
    void trim_lanes();
    bool reads_on(const BoxState& box, std::uint32_t chain) const;
    std::uint64_t fair_share() const;
    void rewind_large_chains();
    void rewind_chain(std::uint32_t box, std::uint32_t chain);
    void charge(Work& work, std::uint32_t chain, bool add);

    // stopping.cpp
    bool waited_long_enough();

    // operators.cpp
    void on_command(const Command& command);
    void carry_out(Work* work, const Command& command);
    void forget_unsent_letter(Work& work, std::string_view target);
    bool revive(Work& work, std::string_view target);
    void skip(Work& work);
    void unblock(Work& work, std::uint32_t chain);
    bool cancel(Work& work);
    void answer(const Command& command, bool carried_out, std::string text);
    void carry_out_waiting();

    const Config config_;
    Random& random_;
    Observer& observer_;
    const Uuid self_;
    const HashKey hash_key_;
    LocalTime now_{};
    Commands commands_{};
    std::vector<std::unique_ptr<BoxState>> boxes_{};

    // owning
    bool started_ = false;
    bool stopping_ = false;
    bool stopped_ = false;
    bool resigned_ = false;
    bool declared_ = false;
    LocalTime stop_deadline_ = local_never;
    LocalTime next_beat_ = local_never;
    LocalTime beat_sent_at_{};
    bool beat_outstanding_ = false;
    bool beat_says_stopping_ = false;
    bool left_ = false;
    std::uint64_t beats_sent_ = 0;
    LocalTime lease_until_{};
    LocalTime in_touch_since_ = local_never;
    LocalTime last_beat_at_{};
    bool late_ = false;
    Duration store_offset_{};
    std::string generation_{};
    std::uint64_t registry_version_ = 0;
    std::uint64_t beat_registry_version_ = 0;
    BeatReply beat_{};
    SeenFree seen_free_{};
    std::map<PartitionId, std::unique_ptr<Partition>> owned_{};
    std::vector<TakeRequest> takes_{};
    LocalTime take_lease_{};  ///< how far the lease reached when the take was sent
    std::vector<GiveRequest> gives_{};

    // the channel
    std::optional<ChannelCall> outstanding_{};
    LocalTime channel_after_{};
    std::uint32_t channel_failures_ = 0;
    std::optional<Refusal> refusal_{};
    std::map<Sequence, LocalTime> held_back_{};  ///< refused one by one, until when
    bool settled_last_ = false;
    bool read_is_void_ = false;
    /// Epochs of the partitions when the outstanding read was sent.
    std::map<PartitionId, std::uint64_t> read_epochs_{};

    // reading
    Position position_{};
    bool row_read_ = false;  ///< what the outstanding scan is for, if it is no scan
    std::uint64_t row_command_ = 0;
    bool reconcile_read_ = false;
    bool increment_wanted_ = true;
    LocalTime poll_at_{};
    Duration poll_pause_{};
    std::uint32_t read_turn_ = 0;
    std::uint64_t reads_issued_ = 0;
    /// All rows up to here have been loaded, or are not ours. Nothing: the store cannot say.
    std::optional<Sequence> known_through_{};
    Brought brought_{};
    Handed handed_{};
    std::uint64_t increment_began_ = 0;  ///< by this read, and we are in its middle; 0: none
    std::vector<std::pair<PartitionId, Sequence>> unproven_{};  ///< until an increment is complete
    std::deque<LaneRead> lane_reads_{};
    std::vector<LaneRead> lanes_asked_{};
    /// Rows with a due time up to here are in memory or accounted for otherwise.
    StoreTime due_horizon_{};
    Sequence due_after_ = tail;
    /// How far ahead due times are fetched: less when memory was short.
    Duration due_lead_{};
    LocalTime next_reconcile_ = local_never;
    Suspects suspects_{};
    std::uint64_t reconciled_ = 0;

    // scheduling
    Timers timers_{};
    std::uint64_t timer_serial_ = 0;
    std::deque<TargetPlace> rotation_{};
    std::map<const TargetFamily*, Places> requests_{};  ///< of boxes that do not say how many
    RunMap runs_{};
    RunId last_run_ = 0;
    std::uint32_t in_flight_ = 0;
    std::uint32_t abandoned_ = 0;
    LocalTime rate_tick_ = local_never;
    Rests rests_{};
    Deadlines deadlines_{};
    std::uint64_t chain_users_ = 0;  ///< chains that hold memory
    /// By chain: whether the scan that is being read serves it.
    std::vector<bool> scan_serves_{};
    /// Older local runs that must not overlap with a new one: delivery or lane → how many.
    std::unordered_map<std::uint64_t, std::uint32_t> ghosts_{};
    Work* solo_ = nullptr;  ///< started alone: the mark must be durable before the run begins
    std::uint32_t solo_delivery_ = 0;
    bool was_fused_ = false;

    // settling
    std::deque<Work*> dirty_{};
    std::vector<Work*> sent_{};
    std::vector<Work*> settled_{};  ///< what follows is not decided yet
    std::size_t settle_limit_ = 0;
    SettlePace settle_pace_{config_.options.settle_halves_quick};
    /// The store knows targets we do not: nothing is settled before the next beat brings them.
    bool registry_stale_ = false;
    std::vector<CommandResult> answers_{};
    std::vector<CommandResult> answers_sent_{};

    // window
    std::uint64_t window_used_ = 0;
    LocalTime next_relief_{};
    bool starved_ = false;  ///< a read waits for memory
    std::uint64_t works_ = 0;
    /// Out of memory's books, but a ready queue still points at them.
    std::unordered_map<const Work*, WorkMap::node_type> gone_{};
    NodePool<WorkMap> spare_works_{};
    NodePool<RunMap> spare_runs_{};
    /// Scratch of load() and start_one(), which never meet themselves.
    std::vector<Delivery> routed_{};
    std::vector<std::uint32_t> wanted_{};
    std::vector<ReadyQueue::Item> starting_{};

    std::deque<Command> waiting_commands_{};
    /// Id → partition, until the answer is durable.
    std::map<std::uint64_t, PartitionId> commands_seen_{};
};

}  // namespace waybill::engine
