#pragma once

#include "core/engine/engine.hpp"
#include "waybill/executor.hpp"
#include "waybill/store.hpp"

/// The engine's commands as calls of the public seams, and their ends as the engine's events: what
/// every shell does the same.
namespace waybill::runtime {

/// Blocks. A failure of any kind is an answer.
engine::ChannelReply call_channel(Store& store, const engine::ChannelCall& call);
engine::BeatAnswer call_beat(Store& store, const InstanceState& state);

/// The first `items` of the run.
Delivery delivery_of(engine::Run& run, std::size_t items);

}  // namespace waybill::runtime
