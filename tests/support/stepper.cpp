#include "support/stepper.hpp"

#include <algorithm>

namespace waybill::test {

Stepper::Stepper(engine::Config config, Store& store, ManualClock& clock, Handler handler,
                 std::uint64_t seed)
    : config_(std::move(config)),
      store_(store),
      clock_(clock),
      handler_(std::move(handler)),
      random_(seed),
      engine_(std::make_unique<engine::Engine>(config_, random_, *this)) {}

void Stepper::start() {
    engine_->start(clock_.now());
    settle_down();
}

void Stepper::stop() {
    engine_->stop(clock_.now());
    settle_down();
}

void Stepper::settle_down() {
    for (;;) {
        engine::Commands commands = engine_->take_commands();
        if (commands.empty()) {
            return;
        }
        if (commands.beat) {
            try {
                engine_->on_beat(clock_.now(), store_.beat(*commands.beat));
            } catch (const StoreError& error) {
                engine_->on_beat(clock_.now(), engine::Failure{error.reaction(), error.what()});
            }
        }
        if (commands.channel) {
            call_store(*commands.channel);
        }
        for (engine::Run& start : commands.runs) {
            run(std::move(start));
        }
        cancelled_.insert(cancelled_.end(), commands.cancels.begin(), commands.cancels.end());
    }
}

void Stepper::call_store(const engine::ChannelCall& call) {
    engine::ChannelReply reply;
    try {
        if (const auto* declare = std::get_if<engine::DeclareCall>(&call)) {
            store_.declare(declare->boxes, declare->targets);
            reply = engine::Declared{};
        } else if (const auto* take = std::get_if<engine::TakeCall>(&call)) {
            reply = store_.take(take->self, take->wanted);
        } else if (const auto* give = std::get_if<engine::GiveCall>(&call)) {
            store_.give(give->partitions);
            reply = engine::Given{};
        } else if (const auto* request = std::get_if<ReadRequest>(&call)) {
            ++reads_;
            ReadPage page = store_.read(*request);
            if (!store_is_in_order) {
                page.complete_through.reset();
            }
            if (after_read) {
                after_read(*request, page);
            }
            reply = std::move(page);
        } else {
            const auto& batch = std::get<SettleBatch>(call);
            if (before_settle) {
                before_settle(batch);
            }
            reply = store_.settle(batch);
        }
    } catch (const StoreError& error) {
        reply = engine::Failure{error.reaction(), error.what()};
    }
    engine_->on_channel(clock_.now(), std::move(reply));
}

void Stepper::run(engine::Run run) {
    const auto& locals = config_.boxes[run.box].targets;
    const Target target =
        run.target < locals.size() ? locals[run.target].target : Target{.key = run.key};
    batches_.push_back(run.items.size());
    engine::RunResults results;
    for (const engine::RunItem& item : run.items) {
        starts_.push_back(target.key + ":" + item.message->body.substr(0, 12));
        std::optional<Outcome> outcome = handler_(item, target);
        if (!outcome) {
            held_.push_back(std::move(run));
            return;
        }
        results.push_back(engine::RunResult{std::move(*outcome)});
    }
    engine_->on_outcome(clock_.now(), run.id, std::move(results));
}

void Stepper::finish_held(engine::RunId run, Outcome outcome, const std::string& detail) {
    end_held(run, engine::RunResult{.outcome = std::move(outcome), .detail = detail});
}

void Stepper::give_back_held(engine::RunId run) {
    end_held(run, std::nullopt);
}

void Stepper::end_held(engine::RunId run, const std::optional<engine::RunResult>& result) {
    const auto found = std::ranges::find(held_, run, &engine::Run::id);
    engine::RunResults results(found->items.size(), result);
    held_.erase(found);
    engine_->on_outcome(clock_.now(), run, std::move(results));
    settle_down();
}

void Stepper::run_for(Duration time) {
    const LocalTime until = clock_.now() + time;
    settle_down();
    while (clock_.now() < until) {
        const LocalTime next = std::clamp(engine_->next_tick(), clock_.now() + Duration{1}, until);
        clock_.advance(next - clock_.now());
        engine_->on_tick(clock_.now());
        settle_down();
    }
}

std::vector<AppendResult> Stepper::append(std::vector<Message> messages, bool hand_over) {
    std::vector<Append> batch;
    for (Message& message : messages) {
        if (message.id.is_nil()) {
            message.id = uuid7(clock_.wall(), random_);
        }
        batch.push_back({.message = std::make_shared<Message>(std::move(message))});
    }
    const std::uint64_t reads_before = engine_->overtaking_reads();
    std::vector<AppendResult> results = store_.append(batch);
    std::vector<engine::HandOver> handed;
    for (std::size_t i = 0; i < batch.size() && hand_over; ++i) {
        handed.push_back(
            {batch[i].message, results[i].sequence, results[i].partition, reads_before});
    }
    if (hand_over) {
        engine_->on_appended(clock_.now(), handed);
    } else {
        engine_->on_wake(clock_.now());
    }
    settle_down();
    return results;
}

void Stepper::on_event(const Event& event) noexcept {
    ++counts_[event.kind];
}

std::uint64_t Stepper::count(Event::Kind kind) const {
    const auto found = counts_.find(kind);
    return found == counts_.end() ? 0 : found->second;
}

engine::LocalBox a_box(std::string name, BoxOptions options, std::vector<std::string> targets) {
    engine::LocalBox box{.name = name, .options = options};
    for (std::string& key : targets) {
        box.targets.push_back({.target = {.box = name, .key = std::move(key)}});
    }
    return box;
}

}  // namespace waybill::test
