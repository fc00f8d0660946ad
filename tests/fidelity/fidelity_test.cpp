#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fidelity/player.hpp"
#include "store/sqlite/calls.hpp"
#include "support/postgres_under_test.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/memory.hpp"
#include "waybill/sqlite.hpp"

/// Whatever is asked of them, in whatever order, two stores answer the same.
namespace waybill::test {
namespace {

class MemoryStage final : public Stage {
public:
    Roles connect() override {
        std::shared_ptr<memory::MemoryStore> store = root_->connect();
        return {store, store.get(), store.get(), store.get(), store.get()};
    }
    void append_inside(void* native, const Append& item) override {
        static_cast<memory::Transaction*>(native)->appends.push_back(item);
    }

private:
    std::unique_ptr<memory::MemoryStore> root_ = memory::open(clock);
};

class SqliteStage final : public Stage {
public:
    Roles connect() override {
        std::shared_ptr<sqlite::SqliteStore> store = root_->connect();
        return {store, store.get(), store.get(), store.get(), store.get()};
    }
    void append_inside(void* native, const Append& item) override {
        sqlite::Session session{static_cast<sqlite3*>(native)};
        sqlite::append(session, clock.wall(), {&item, 1});
    }

private:
    TemporaryFolder folder_{};
    // Nobody pulls the plug here: no need to wait for the disk.
    std::unique_ptr<sqlite::SqliteStore> root_ =
        sqlite::open(folder_.file("store.db"), clock, {.synchronous = sqlite::Synchronous::normal});
};

class PostgresStage final : public Stage {
public:
    Roles connect() override {
        std::shared_ptr<postgres::PostgresStore> store = schema_.connect();
        return {store, store.get(), store.get(), store.get(), store.get()};
    }
    void append_inside(void* native, const Append& item) override {
        schema_.append_inside(native, item);
    }
    void advance(Duration by) override {
        Stage::advance(by);
        schema_.advance(by);
    }

private:
    PostgresSchema schema_{};
};

/// Long enough for a message to be appended, read, killed, requeued and swept.
constexpr int kStepsMax = 400;
/// A round trip each: CI has little time.
constexpr int kRemoteStepsMax = 150;

using MakeStage = std::function<std::unique_ptr<Stage>()>;

rc::Gen<Step> a_step() {
    using enum Step::Kind;
    // What fills a store, and what empties it, more often than questions.
    const auto kind = rc::gen::weightedElement<Step::Kind>({
        {10, append},   {1, declare},        {4, beat},    {4, take},    {1, give},
        {5, increment}, {9, scan},           {2, due},     {2, lanes},   {3, parked},
        {20, settle},   {3, repeat},         {6, requeue}, {6, replay},  {1, discard},
        {4, command},   {1, command_result}, {1, pause},   {1, forget},  {1, sweep},
        {3, advance},   {4, inline_run},     {1, browse},  {1, letters}, {2, detail},
        {1, count},     {1, health},
    });
    return rc::gen::map(rc::gen::pair(kind, rc::gen::arbitrary<std::uint32_t>()),
                        [](const auto& made) {
                            return Step{made.first, made.second};
                        });
}

/// Plays on both until their answers differ.
void play_on_both(const MakeStage& first, const MakeStage& second,
                  Player::Pages pages = Player::Pages::one_by_one, int steps_max = kStepsMax) {
    const auto steps = *rc::gen::resize(steps_max, rc::gen::container<std::vector<Step>>(a_step()));
    Player one{first(), pages};
    Player two{second(), pages};
    std::string story;
    const auto compare = [&](const std::string& expected, const std::string& answered) {
        if (expected != answered) {
            RC_FAIL(story + "\n--- one answered\n" + expected + "\n--- the other\n" + answered);
        }
        story += answered + "\n";
    };
    // Owned by somebody, or most steps would do nothing.
    for (const auto kind : {Step::Kind::beat, Step::Kind::take}) {
        for (const std::uint32_t seed : {1U, 2U, 3U}) {
            compare(one.play({kind, seed}), two.play({kind, seed}));
        }
    }
    for (const Step& step : steps) compare(one.play(step), two.play(step));
    compare(one.everything(), two.everything());
}

const MakeStage memory_stage = [] { return std::make_unique<MemoryStage>(); };
const MakeStage sqlite_stage = [] { return std::make_unique<SqliteStage>(); };

const MakeStage postgres_stage = [] { return std::make_unique<PostgresStage>(); };

RC_GTEST_PROP(Fidelity, AStoreAnswersAsItsTwin, ()) {
    play_on_both(memory_stage, memory_stage);
}

RC_GTEST_PROP(Fidelity, SqliteAnswersAsMemory, ()) {
    play_on_both(memory_stage, sqlite_stage);
}

RC_GTEST_PROP(Fidelity, PostgresAnswersAsMemory, ()) {
    play_on_both(memory_stage, postgres_stage, Player::Pages::to_the_end, kRemoteStepsMax);
}

}  // namespace
}  // namespace waybill::test
