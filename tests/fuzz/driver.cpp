/// Runs a libFuzzer target without libFuzzer: every file of a corpus, then mutations of them.
///
///     fuzz_framing tests/fuzz/corpus/framing 20000 [seed]
///
/// A crash names the input in a file, so that it can become part of the corpus.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

#include "fuzz/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string current;  // NOLINT: a signal handler has nothing else

extern "C" void keep_input(int signal) {
    const int file = ::open("fuzz-crash.input", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (file >= 0 && ::write(file, current.data(), current.size()) >= 0) ::close(file);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void run(std::string input) {
    current = std::move(input);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::cerr << "usage: " << arguments[0] << " CORPUS_FOLDER RUNS [SEED]\n";
        return 2;
    }
    std::vector<std::string> corpus;
    for (const auto& entry : std::filesystem::directory_iterator{arguments[1]}) {
        std::ifstream file{entry.path(), std::ios::binary};
        corpus.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
    }
    if (corpus.empty()) {
        std::cerr << "the corpus is empty\n";
        return 2;
    }
    std::sort(corpus.begin(), corpus.end());
    std::signal(SIGABRT, keep_input);
    std::signal(SIGSEGV, keep_input);

    const std::uint64_t seed = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1;
    const std::uint64_t runs = std::strtoull(arguments[2], nullptr, 10);
    for (const std::string& input : corpus) run(input);
    waybill::fuzz::Mutator mutator{corpus, seed};
    for (std::uint64_t i = 0; i < runs; ++i) run(mutator.next());
    std::cout << corpus.size() << " inputs and " << runs << " mutations of them, seed " << seed
              << ": fine\n";
    return 0;
}
