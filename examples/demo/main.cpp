#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "board.hpp"
#include "instance.hpp"
#include "screen.hpp"

/// One sees an inbox at work: orders flow in six lanes, attempts fail and are retried, a lane blocks
/// and catches up, a poisoned order dies and is requeued, an instance falls silent and another takes
/// its partitions over. The story repeats until somebody ends it.
namespace demo {
namespace {

using namespace std::chrono_literals;

volatile sig_atomic_t ended = 0;

extern "C" void on_signal(int) {
    ended = 1;
}

struct Options {
    /// 0: until Ctrl-C.
    double seconds = 0;
    bool plain = false;
};

constexpr const char* kHelp =
    "Usage: waybill_demo [--seconds N] [--plain]\n"
    "\n"
    "Shows an inbox at work: lanes, retries, dead letters, two instances that share the work.\n"
    "\n"
    "  --seconds N   end after N seconds (and tell the whole story in that time); 0 = until "
    "Ctrl-C\n"
    "  --plain       lines instead of a dashboard; the default when this is not a terminal\n"
    "  --help        this\n";

Options options_of(int count, char** arguments) {
    Options options{.plain = ::isatty(STDOUT_FILENO) == 0};
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            std::fputs(kHelp, stdout);
            std::exit(0);
        } else if (argument == "--plain") {
            options.plain = true;
        } else if (argument == "--seconds" && i + 1 < count) {
            char* end = nullptr;
            options.seconds = std::strtod(arguments[++i], &end);
            if (*end == '\0' && options.seconds >= 0 && options.seconds < 1e6) continue;
            std::fprintf(stderr, "waybill_demo: --seconds %s: give a number\n", arguments[i]);
            std::exit(2);
        } else {
            std::fprintf(stderr, "waybill_demo: unknown argument %s\n%s", arguments[i], kHelp);
            std::exit(2);
        }
    }
    return options;
}

class Story {
public:
    explicit Story(double length) : length_(length) {
        one_ = std::make_unique<Instance>("one", *root_, board_, weather_);
        board_.tell("instance one starts; two will follow");
    }

    Board& board() { return board_; }

    void step() {
        const double now = board_.seconds();
        append_orders(now);
        const double told = (now - chapter_start_) / length_;
        while (next_ < kChapters && told >= at_[next_]) tell_chapter(next_++);
        if (told >= 1.0) {
            next_ = 0;
            chapter_start_ = now;
        }
        std::vector<InstanceView> instances{one_->view()};
        if (two_) instances.push_back(two_->view());
        board_.show_instances(std::move(instances));
    }

    /// Fair weather, until everything is done. False: something is left.
    bool drain() {
        weather_.bank_down = false;
        weather_.poison_mended = true;
        weather_.bad_luck = 0;
        requeue();
        // What the other one still owns comes over when it has left, or when its lease has run out.
        two_.reset();
        cleaner_ = {};
        const Clock::time_point end = Clock::now() + 20s;
        const auto all_done = [&] {
            return root_->count({.state = waybill::Filter::State::open}) == 0;
        };
        while (!all_done() && Clock::now() < end) one_->app().wait_done(500ms);
        one_->app().stop();
        return all_done();
    }

private:
    static constexpr std::size_t kChapters = 7;
    static constexpr double at_[kChapters] = {0.06, 0.15, 0.22, 0.42, 0.50, 0.66, 0.80};

    void tell_chapter(std::size_t chapter) {
        switch (chapter) {
            case 0: return start_two();
            case 1:
                weather_.bank_down = true;
                return board_.tell("ken's bank is down: his lane blocks, the others flow");
            case 2: return append_poison();
            case 3:
                weather_.bank_down = false;
                return board_.tell("ken's bank is back: his lane catches up");
            case 4:
                if (two_) two_->cut();
                return board_.tell("two falls silent; its lease has to run out first");
            case 5:
                weather_.poison_mended = true;
                board_.tell("somebody corrects the poisoned order and requeues it");
                return requeue();
            default:
                // Stopping takes until its shutdown_timeout: it cannot say goodbye to the store.
                cleaner_ = std::jthread{[old = std::move(two_)]() mutable { old.reset(); }};
                return start_two();
        }
    }

    void start_two() {
        if (two_) return;
        two_ = std::make_unique<Instance>("two", *root_, board_, weather_);
        board_.tell("instance two starts and asks for work");
    }

    void append_orders(double now) {
        for (; appended_until_ < now; appended_until_ += 0.02)
            append(turn_++ % lane_names.size(), {});
    }

    void append_poison() {
        weather_.poison_mended = false;
        board_.tell("a poisoned order comes in");
        append(0, std::string{poison});
    }

    void append(std::size_t lane, std::string body) {
        const std::uint64_t number = body.empty() ? board_.next_number(lane) : 0;
        waybill::Message order{.type = body.empty() ? "order.placed" : "order.poisoned",
                               .body = body.empty() ? std::to_string(number) : body,
                               .lane = body.empty() ? std::string{lane_names[lane]} : "mallory"};
        // An id of our own: the board must know it before an instance can speak of it.
        ++ids_;
        for (std::size_t i = 0; i < 8; ++i) {
            order.id.bytes[15 - i] = static_cast<std::uint8_t>(ids_ >> (8 * i));
        }
        if (body.empty()) {
            board_.appended(lane, number, order.id);
        } else {
            board_.poisoned();
        }
        one_->app().append(std::move(order));
    }

    void requeue() {
        const auto dead = root_->dead_letters({}, {}, 100);
        std::vector<waybill::DeliveryRef> deliveries;
        for (const auto& item : dead.items) {
            if (item.letter.target != "charge") continue;
            deliveries.push_back({item.letter.message, item.letter.target});
            board_.requeued();
        }
        if (!deliveries.empty()) root_->requeue(deliveries);
    }

    const double length_;
    std::unique_ptr<waybill::memory::MemoryStore> root_ = waybill::memory::open({.partitions = 8});
    Board board_;
    Weather weather_;
    std::unique_ptr<Instance> one_;
    std::unique_ptr<Instance> two_;
    std::jthread cleaner_;
    double chapter_start_ = 0;
    std::size_t next_ = 0;
    double appended_until_ = 0;
    std::size_t turn_ = 0;
    std::uint64_t ids_ = 0;
};

int run(const Options& options) {
    const double length = options.seconds > 0 && options.seconds < 26 ? options.seconds : 26;
    Story story{length};
    const bool in_colour = !options.plain;
    if (in_colour) enter_screen();
    std::uint64_t lines_told = 0;
    double next_print = 0;
    while (ended == 0 && (options.seconds <= 0 || story.board().seconds() < options.seconds)) {
        story.step();
        const Board::View view = story.board().view();
        if (view.seconds >= next_print) {
            options.plain ? print_plain(view, lines_told) : draw(view);
            lines_told = view.lines_told;
            next_print = view.seconds + (options.plain ? 1.0 : 0.1);
        }
        std::this_thread::sleep_for(20ms);
    }
    if (in_colour) leave_screen();

    std::printf("finishing what is open …\n");
    std::fflush(stdout);
    const bool all_done = story.drain();
    const Board::View view = story.board().view();
    print_summary(view, in_colour);
    const bool well = all_done && view.counts.out_of_order == 0 &&
                      done_messages(view.counts) == view.counts.appended;
    if (!all_done) std::printf("not everything was done in time\n");
    return well ? 0 : 1;
}

}  // namespace
}  // namespace demo

int main(int count, char** arguments) {
    const demo::Options options = demo::options_of(count, arguments);
    ::signal(SIGINT, demo::on_signal);
    ::signal(SIGTERM, demo::on_signal);
    return demo::run(options);
}
