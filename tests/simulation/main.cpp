#include <algorithm>
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

constexpr unsigned kSecondsPerSeed = 120;

struct Arguments {
    std::uint64_t first = 0;
    std::uint64_t last = 1999;
    const MutationInfo* mutation = nullptr;
    bool all_mutations = false;
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
        "  --mutation NAME           plant a bug\n"
        "  --expect-violation        success if the bug breaks one of its rules; ends there\n"
        "  --mutation all            every planted bug, one after the other, as a table\n"
        "  --list-mutations          name them and their rules\n"
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
            arguments.mutation = find_mutation(wanted);
            arguments.all_mutations = wanted == "all";
            if (arguments.mutation == nullptr && !arguments.all_mutations) {
                usage("no such mutation; see --list-mutations");
            }
        } else if (name == "--expect-violation") {
            arguments.is_expecting = true;
        } else if (name == "--list-mutations") {
            arguments.list = true;
        } else if (name == "--trace") {
            arguments.trace = true;
        } else if (name == "--keep-going") {
            arguments.keep_going = true;
        } else if (name == "--jobs") {
            arguments.jobs = std::max(1U, static_cast<unsigned>(number(value())));
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

/// `beside`: something broke, but not what the planted bug should break.
enum class Verdict : std::uint8_t { clean, violation, beside };

/// A planted bug is caught when one of its own rules breaks, in a seed that is clean without it.
Verdict judge(const Arguments& arguments, std::uint64_t seed, const Violation& violation) {
    if (!breaks(*arguments.mutation, violation.rule) || !is_clean(seed)) return Verdict::beside;
    if (arguments.all_mutations) {
        std::printf("| `%s` | %s | %s | %llu |\n", std::string{arguments.mutation->name}.c_str(),
                    std::string{arguments.mutation->rules}.c_str(), violation.rule.c_str(),
                    static_cast<unsigned long long>(seed));
    }
    return Verdict::violation;
}

Verdict run_seed(const Arguments& arguments, std::uint64_t seed) {
    const Mutation mutation =
        arguments.mutation == nullptr ? Mutation::none : arguments.mutation->mutation;
    World world{seed, mutation, arguments.trace};
    world.run();
    if (const auto& violation = world.history().violation()) {
        const Verdict verdict =
            arguments.is_expecting ? judge(arguments, seed, *violation) : Verdict::violation;
        if (verdict == Verdict::violation && !arguments.all_mutations) {
            report(arguments, seed, world);
        }
        return verdict;
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
            return Verdict::violation;
        }
    }
    return Verdict::clean;
}

/// In a process of its own, so that a crash or an endless loop is a finding like any other.
Verdict run_apart(const Arguments& arguments, std::uint64_t seed) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(kSecondsPerSeed);
        const Verdict verdict = run_seed(arguments, seed);
        std::fflush(stdout);
        _exit(static_cast<int>(verdict));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) return static_cast<Verdict>(WEXITSTATUS(status));
    if (arguments.is_expecting) return Verdict::beside;  // no way to find a planted bug
    std::printf("seed %llu: ended by signal %d\n  %s\n\n", static_cast<unsigned long long>(seed),
                WTERMSIG(status), replay(arguments, seed).c_str());
    return Verdict::violation;
}

/// Every `step`-th seed from `first` on. The number of violations.
int run_share(const Arguments& arguments, std::uint64_t first, std::uint64_t step) {
    int found = 0;
    int beside = 0;
    for (std::uint64_t seed = first; seed <= arguments.last; seed += step) {
        const bool is_single = arguments.first == arguments.last;
        const Verdict verdict = is_single ? run_seed(arguments, seed) : run_apart(arguments, seed);
        if (verdict == Verdict::beside) ++beside;
        if (verdict != Verdict::violation) continue;
        ++found;
        if (!arguments.keep_going) break;
    }
    if (arguments.is_expecting && (arguments.keep_going || found == 0)) {
        std::printf("%s: %d seeds break one of %s, %d something else\n",
                    std::string{arguments.mutation->name}.c_str(), found,
                    std::string{arguments.mutation->rules}.c_str(), beside);
    }
    return found;
}

/// A row for each planted bug. The number of those that got away.
int run_mutations(Arguments arguments, unsigned first, unsigned step) {
    int missed = 0;
    arguments.is_expecting = true;
    for (std::size_t i = first; i < all_mutations().size(); i += step) {
        arguments.mutation = &all_mutations()[i];
        if (run_share(arguments, arguments.first, 1) == 0) ++missed;
    }
    return missed;
}

/// One job of several: the planted bugs are shared out, or the seeds.
int run_job(const Arguments& arguments, unsigned job) {
    if (arguments.all_mutations) return run_mutations(arguments, job, arguments.jobs);
    return run_share(arguments, arguments.first + job, arguments.jobs);
}

int run_all(const Arguments& arguments) {
    if (arguments.jobs <= 1) return run_job(arguments, 0);
    std::vector<pid_t> children;
    for (unsigned job = 0; job < arguments.jobs; ++job) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            const int found = run_job(arguments, job);
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
            std::printf("%-34s %-14s %s\n", std::string{info.name}.c_str(),
                        std::string{info.rules}.c_str(), std::string{info.bug}.c_str());
        }
        return 0;
    }
    const int found = run_all(arguments);
    if (arguments.is_expecting && !arguments.all_mutations) {
        std::printf("%s\n",
                    found > 0 ? "the planted bug was caught" : "the planted bug was NOT caught");
        return found > 0 ? 0 : 1;
    }
    if (found == 0 && !arguments.all_mutations) {
        std::printf("%llu seeds, no violation\n",
                    static_cast<unsigned long long>(arguments.last - arguments.first + 1));
    }
    return found > 0 ? 1 : 0;
}
