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
engine::Failure failure_in_hand() {
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
        return failure_in_hand();
    }
}

engine::BeatAnswer call_beat(Store& store, const InstanceState& state) {
    try {
        return store.beat(state);
    } catch (...) {
        return failure_in_hand();
    }
}

Delivery delivery_of(engine::Run& run, std::size_t items) {
    Delivery delivery{.number = run.id, .fence = std::move(run.fence), .deadline = run.deadline};
    delivery.items.reserve(items);
    for (std::size_t i = 0; i < items; ++i) {
        engine::RunItem& item = run.items[i];
        delivery.items.push_back(
            {std::move(item.message), item.sequence, item.attempt, item.requeues});
    }
    return delivery;
}

engine::RunResults run_results(DeliveryResults& results) {
    engine::RunResults converted;
    converted.reserve(results.size());
    for (auto& result : results) {
        if (result) {
            converted.emplace_back(engine::RunResult{std::move(result->outcome), result->record});
        } else {
            converted.emplace_back();
        }
    }
    return converted;
}

}  // namespace waybill::runtime
