#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "simulation/dice.hpp"
#include "simulation/mutation.hpp"
#include "simulation/sim_store.hpp"

namespace waybill::sim {

/// Stands between an engine and its world and spoils what passes, as a bug in the engine would. Without
/// a mutation everything passes as it is.
class Mutant {
public:
    Mutant(Mutation mutation, std::uint64_t seed) : mutation_(mutation), dice_(seed, 77) {}

    void configure(engine::Config& config) const;
    void before_beat(InstanceState& state) const;
    void after_beat(BeatReply& reply);
    /// `store` is as it is when the call is sent.
    void before_call(engine::ChannelCall& call);
    void at_store(const engine::ChannelCall& call, SimStore& store);
    void after_call(const engine::ChannelCall& call, engine::ChannelReply& reply);
    void hand_over(engine::HandOver& message, const engine::Engine& engine) const;
    void on_hint() { hinted_ = true; }

    bool drops_late_outcome() const { return mutation_ == Mutation::late_outcome_dropped; }
    bool releases_while_running() {
        return is(Mutation::release_while_running) && dice_.chance(0.02);
    }
    bool answers_at_once() const { return is(Mutation::done_before_handler); }

private:
    bool is(Mutation mutation) const { return mutation_ == mutation; }

    Mutation mutation_;
    Dice dice_;
    bool hinted_ = false;
    bool scanned_ = false;
    std::string generation_{};
    std::vector<Entry> old_page_{};
    /// What a scan inside the take statement would have seen.
    std::map<PartitionId, std::vector<Entry>> images_{};
};

}  // namespace waybill::sim
