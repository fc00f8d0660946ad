#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "fidelity/dice.hpp"
#include "fidelity/transcript.hpp"
#include "support/manual_clock.hpp"
#include "waybill/inline.hpp"

namespace waybill::test {

/// A way into a store with all its roles.
struct Roles {
    std::shared_ptr<void> owner{};
    Store* store = nullptr;
    Catalogue* catalogue = nullptr;
    Upkeep* upkeep = nullptr;
    InlineStore* inline_store = nullptr;
};

/// An empty store of one kind, on a clock in the test's hand.
class Stage {
public:
    virtual ~Stage() = default;
    virtual Roles connect() = 0;
    virtual void append_inside(void* native, const Append& item) = 0;
    virtual void advance(Duration by) { clock.advance(by); }

    ManualClock clock{};
};

struct Step {
    enum class Kind : std::uint8_t {
        append,
        declare,
        beat,
        take,
        give,
        increment,
        scan,
        due,
        lanes,
        parked,
        settle,
        repeat,
        requeue,
        replay,
        discard,
        command,
        command_result,
        pause,
        forget,
        sweep,
        advance,
        inline_run,
        browse,
        letters,
        detail,
        count,
        health,
    };
    static constexpr std::size_t kinds = static_cast<std::size_t>(Kind::health) + 1;
    Kind kind{};
    /// Where its choices come from.
    std::uint32_t seed = 0;
};

std::string_view to_string(Step::Kind kind);
std::ostream& operator<<(std::ostream& out, const Step& step);

/// Plays steps on one store. What a step does depends on its seed and on what the store has answered
/// so far, so two stores that answer the same are asked the same.
class Player {
public:
    /// How an increment of many pages is read. What comes meanwhile is part of its later pages in a
    /// store whose position is a sequence, and of the next one where it is a snapshot.
    enum class Pages : std::uint8_t { one_by_one, to_the_end };

    explicit Player(std::unique_ptr<Stage> stage, Pages pages = Pages::one_by_one);

    /// The step and its answer.
    std::string play(const Step& step);
    /// Everything anybody could see.
    std::string everything();

private:
    struct Host {
        Roles roles{};
        InstanceState state{};
        BeatReply seen{};
        std::map<PartitionId, Token> taken{};
        Position position{};
        std::vector<Command> commands{};
    };

    std::string act(Step::Kind kind, Dice& dice);

    // Hot path: player.cpp
    std::string append(Dice& dice);
    std::string declare(Dice& dice);
    std::string beat(Dice& dice);
    std::string take(Dice& dice);
    std::string give(Dice& dice);
    std::string read(Step::Kind kind, Dice& dice);
    std::string advance(Dice& dice);

    // Results: player_settle.cpp
    std::string settle(Dice& dice);
    std::string repeat(Dice& dice);
    std::string inline_run(Dice& dice);
    Settlement settlement(Dice& dice, const Entry& entry);
    std::string describe(const Settlement& item);

    // People: player_people.cpp
    std::string requeue_or_discard(Step::Kind kind, Dice& dice);
    std::string command(Dice& dice);
    std::string command_result(Dice& dice);
    std::string sweep(Dice& dice);
    std::string browse(const Filter& filter, std::uint32_t rows_max);
    std::string letters(const Filter& filter, std::uint32_t rows_max);
    std::string detail(const Uuid& id);
    Filter filter(Dice& dice);

    Message message(Dice& dice);
    Append item(Dice& dice, Message message) const;
    Host& host(Dice& dice) { return hosts_[dice.below(hosts_.size())]; }
    /// A row somebody has read; null while there is none.
    const Entry* known_row(Dice& dice);
    void remember(const ReadPage& page);

    const Pages pages_;
    std::unique_ptr<Stage> stage_;
    Roles here_;
    std::array<Host, 2> hosts_{};
    Transcript told_{};
    std::vector<Uuid> messages_{};
    std::map<Sequence, Entry> rows_{};
    /// Any, and those that were said to be dead.
    std::vector<DeliveryRef> deliveries_{};
    std::vector<DeliveryRef> dead_{};
    std::vector<std::uint64_t> commands_{};
    std::vector<PartitionId> partitions_{};
    SettleBatch last_settle_{};
    std::size_t last_settler_ = 0;
    int next_id_ = 100;
};

}  // namespace waybill::test
