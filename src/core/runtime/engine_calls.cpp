#include "core/runtime/engine_calls.hpp"

#include <exception>
#include <utility>

namespace waybill::runtime {
namespace {

template <class... Cases>
struct Match : Cases... {
    using Cases::operator()...;
};

/// The exception in hand, as the engine wants to hear of it.
engine::Failure store_failure_in_hand() {
    try {
        throw;
    } catch (const StoreError& error) {
        return {error.reaction(), error.what()};
    } catch (const std::exception& error) {
        return {Reaction::give_up, std::string{"the store threw: "} + error.what()};
    } catch (...) {
        return {Reaction::give_up, "the store threw something that is no exception"};
    }
}

}  // namespace

engine::ChannelReply call_channel(Store& store, const engine::ChannelCall& call) {
    using Reply = engine::ChannelReply;
    try {
        return std::visit(
            Match{
                [&](const engine::DeclareCall& declare) -> Reply {
                    store.declare(declare.boxes, declare.targets);
                    return engine::Declared{};
                },
                [&](const engine::TakeCall& take) -> Reply {
                    return store.take(take.self, take.wanted);
                },
                [&](const engine::GiveCall& give) -> Reply {
                    store.give(give.partitions);
                    return engine::Given{};
                },
                [&](const ReadRequest& request) -> Reply { return store.read(request); },
                [&](const SettleBatch& batch) -> Reply { return store.settle(batch); },
            },
            call);
    } catch (...) {
        return store_failure_in_hand();
    }
}

engine::BeatAnswer call_beat(Store& store, const InstanceState& state) {
    try {
        return store.beat(state);
    } catch (...) {
        return store_failure_in_hand();
    }
}

Delivery delivery_of(engine::Run& run, std::size_t items) {
    run.items.resize(items);
    return {.number = run.id,
            .items = std::move(run.items),
            .fence = std::move(run.fence),
            .deadline = run.deadline,
            .attempts_log = run.attempts_log,
            .target = std::move(run.key)};
}

}  // namespace waybill::runtime
