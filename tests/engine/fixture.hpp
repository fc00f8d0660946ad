#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/stepper.hpp"

namespace waybill::test {

using namespace std::chrono_literals;

/// One engine over the memory store; handlers answer from a script, else Done.
class EngineTest : public ::testing::Test {
protected:
    /// "target:body" → what its attempts end in, one after the other; then Done.
    std::map<std::string, std::vector<Outcome>> script;
    /// "target:body" of runs that are held until the test finishes them.
    std::vector<std::string> hold;
    /// Every run of this target is held.
    std::string hold_all;
    /// Every run of a message whose body begins so is held.
    std::string hold_body;
    /// Every first attempt fails, unless the body says "free".
    bool fail_first = false;
    bool store_is_in_order = true;
    ManualClock clock;
    std::unique_ptr<memory::MemoryStore> store = memory::open(clock);
    engine::Config config;
    std::unique_ptr<Stepper> stepper;

    /// Ready to append to.
    Stepper& run(engine::Config with) {
        config = std::move(with);
        stepper = std::make_unique<Stepper>(
            config, *store, clock, [this](const engine::RunItem& item, const Target& target) {
                return answer(item, target);
            });
        stepper->store_is_in_order = store_is_in_order;
        stepper->start();
        stepper->run_for(2s);
        return *stepper;
    }
    Stepper& run(engine::LocalBox box) {
        engine::Config with;
        with.boxes.push_back(std::move(box));
        return run(std::move(with));
    }

    /// Registers its targets again.
    void declare(const engine::LocalBox& box) {
        std::vector<Target> targets;
        for (const engine::LocalTarget& target : box.targets) {
            targets.push_back(target.target);
        }
        const BoxDeclaration declaration{.name = box.name, .options = box.options};
        store->declare({&declaration, 1}, targets);
    }

    static Message message(std::string body, std::string lane = {}, std::string type = "t") {
        return {.box = "orders",
                .type = std::move(type),
                .body = std::move(body),
                .lane = std::move(lane)};
    }
    std::uint64_t open_messages() { return store->count({.state = Filter::State::open}); }
    std::uint64_t dead_letters() { return store->count({.state = Filter::State::dead}); }

private:
    std::optional<Outcome> answer(const engine::RunItem& item, const Target& target) {
        if ((!hold_all.empty() && target.key == hold_all) ||
            (!hold_body.empty() && item.message->body.starts_with(hold_body))) {
            return std::nullopt;
        }
        if (fail_first && item.attempt == 1 && item.message->body != "free") {
            return Fail{"not yet"};
        }
        const std::string key = target.key + ":" + item.message->body;
        if (std::erase(hold, key) > 0) {
            return std::nullopt;
        }
        std::vector<Outcome>& answers = script[key];
        if (answers.empty()) {
            return Done{};
        }
        Outcome outcome = answers.front();
        answers.erase(answers.begin());
        return outcome;
    }
};

}  // namespace waybill::test
