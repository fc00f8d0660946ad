#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "simulation/world.hpp"

/// waybill_simulation: runs seeds, prints the first violation and the line that replays it.
namespace {

using namespace waybill;
using namespace waybill::sim;

constexpr unsigned kSecondsPerSeed = 30;

struct Arguments {
    std::uint64_t first = 0;
    std::uint64_t last = 1999;
    const MutationInfo* mutation = nullptr;
    bool is_expecting = false;
    bool trace = false;
    bool list = false;
    bool keep_going = false;
    unsigned jobs = 1;
};

[[noreturn]] void usage(const std::string& problem) {
    std::fprintf(
        stderr,
        "waybill_simulation: %s\n"
        "  --seed N | --seeds A..B   which runs (default 0..1999, or 0..WAYBILL_SIM_SEEDS-1)\n"
        "  --mutation NAME           plant a bug; --expect-violation turns the exit code around\n"
        "  --list-mutations          name them\n"
        "  --trace                   print everything that happens\n"
        "  --jobs N                  in N processes\n"
        "  --keep-going              do not stop at the first violation\n",
        problem.c_str());
    std::exit(2);
}

std::uint64_t number(std::string_view text) {
    return std::strtoull(std::string{text}.c_str(), nullptr, 10);
}

Arguments parse(int count, char** values) {
    Arguments arguments;
    if (const char* seeds = std::getenv("WAYBILL_SIM_SEEDS")) arguments.last = number(seeds) - 1;
    for (int i = 1; i < count; ++i) {
        const std::string_view name = values[i];
        const auto value = [&]() -> std::string_view {
            if (++i >= count) usage(std::string{name} + " needs a value");
            return values[i];
        };
        if (name == "--seed") {
            arguments.first = arguments.last = number(value());
        } else if (name == "--seeds") {
            const std::string_view range = value();
            const std::size_t dots = range.find("..");
            if (dots == std::string_view::npos) usage("--seeds wants A..B");
            arguments.first = number(range.substr(0, dots));
            arguments.last = number(range.substr(dots + 2));
        } else if (name == "--mutation") {
            const std::string_view wanted = value();
            for (const MutationInfo& info : all_mutations()) {
                if (info.name == wanted) arguments.mutation = &info;
            }
            if (arguments.mutation == nullptr) usage("no such mutation; see --list-mutations");
        } else if (name == "--expect-violation") {
            arguments.is_expecting = true;
        } else if (name == "--list-mutations") {
            arguments.list = true;
        } else if (name == "--trace") {
            arguments.trace = true;
        } else if (name == "--keep-going") {
            arguments.keep_going = true;
        } else if (name == "--jobs") {
            arguments.jobs = static_cast<unsigned>(number(value()));
        } else {
            usage("unknown argument " + std::string{name});
        }
    }
    return arguments;
}

std::string replay(const Arguments& arguments, std::uint64_t seed) {
    std::string line = "replay: waybill_simulation --seed " + std::to_string(seed);
    if (arguments.mutation != nullptr) {
        line += " --mutation " + std::string{arguments.mutation->name};
    }
    return line;
}

void report(const Arguments& arguments, std::uint64_t seed, const World& world) {
    const Violation& violation = *world.history().violation();
    std::string text = "seed " + std::to_string(seed) + ": violation of " + violation.rule +
                       " at " + in_seconds(violation.at) + " s";
    if (violation.message != no_message) text += ", message m" + std::to_string(violation.message);
    text += ": " + violation.text + "\n";
    if (violation.message != no_message) {
        text += "  its last events:\n" + world.history().tail(violation.message, 30);
    }
    text += "  all last events:\n" + world.history().tail(no_message, 12);
    text += "  " + replay(arguments, seed);
    std::printf("%s\n\n", text.c_str());
    std::fflush(stdout);
}

bool is_clean(std::uint64_t seed) {
    World world{seed, Mutation::none, false};
    world.run();
    return !world.history().violation();
}

/// True: the seed is clean. A planted bug is caught only by a seed that is clean without it.
bool run_seed(const Arguments& arguments, std::uint64_t seed) {
    const Mutation mutation =
        arguments.mutation == nullptr ? Mutation::none : arguments.mutation->mutation;
    World world{seed, mutation, arguments.trace};
    world.run();
    if (world.history().violation()) {
        if (mutation != Mutation::none && !is_clean(seed)) return true;
        report(arguments, seed, world);
        return false;
    }
    if (arguments.trace) {
        std::printf("seed %llu: clean, %llu events, %s s\n", static_cast<unsigned long long>(seed),
                    static_cast<unsigned long long>(world.events()),
                    in_seconds(world.now()).c_str());
    }
    // Whoever runs twice must see the same.
    if (mutation == Mutation::none && seed % 100 == 7) {
        World again{seed, mutation, false};
        again.run();
        if (again.history().hash() != world.history().hash()) {
            std::printf("seed %llu: two runs, two histories\n",
                        static_cast<unsigned long long>(seed));
            return false;
        }
    }
    return true;
}

/// In a process of its own, so that a crash or an endless loop is a finding like any other.
bool run_apart(const Arguments& arguments, std::uint64_t seed) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(kSecondsPerSeed);
        const bool is_fine = run_seed(arguments, seed);
        std::fflush(stdout);
        _exit(is_fine ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status) == 0;
    std::printf("seed %llu: ended by signal %d\n  %s\n\n", static_cast<unsigned long long>(seed),
                WTERMSIG(status), replay(arguments, seed).c_str());
    // A crash is not how a planted bug should be found.
    return arguments.mutation != nullptr;
}

/// Every `step`-th seed from `first` on. The number of violations.
int run_share(const Arguments& arguments, std::uint64_t first, std::uint64_t step) {
    int found = 0;
    for (std::uint64_t seed = first; seed <= arguments.last; seed += step) {
        const bool is_single = arguments.first == arguments.last;
        if (is_single ? run_seed(arguments, seed) : run_apart(arguments, seed)) continue;
        ++found;
        if (!arguments.keep_going) break;
    }
    return found;
}

int run_all(const Arguments& arguments) {
    if (arguments.jobs <= 1) return run_share(arguments, arguments.first, 1);
    std::vector<pid_t> children;
    for (unsigned job = 0; job < arguments.jobs; ++job) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            const int found = run_share(arguments, arguments.first + job, arguments.jobs);
            std::fflush(stdout);
            _exit(found > 0 ? 1 : 0);
        }
        children.push_back(child);
    }
    int found = 0;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++found;
    }
    return found;
}

}  // namespace

int main(int count, char** values) {
    const Arguments arguments = parse(count, values);
    if (arguments.list) {
        for (const MutationInfo& info : all_mutations()) {
            std::printf("%-34s %s\n", std::string{info.name}.c_str(),
                        std::string{info.bug}.c_str());
        }
        return 0;
    }
    const int found = run_all(arguments);
    if (arguments.is_expecting) {
        std::printf("%s\n",
                    found > 0 ? "the planted bug was caught" : "the planted bug was NOT caught");
        return found > 0 ? 0 : 1;
    }
    if (found == 0) {
        std::printf("%llu seeds, no violation\n",
                    static_cast<unsigned long long>(arguments.last - arguments.first + 1));
    }
    return found > 0 ? 1 : 0;
}
