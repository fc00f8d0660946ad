#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace waybill::fuzz {

/// Changes inputs as libFuzzer would, but without looking at coverage: the same seed makes the same
/// inputs on every machine.
class Mutator {
public:
    Mutator(std::vector<std::string> corpus, std::uint64_t seed)
        : corpus_(std::move(corpus)), random_(seed) {}

    /// Some input of the corpus with a few changes.
    std::string next() {
        std::string input = corpus_[below(corpus_.size())];
        for (std::size_t left = 1 + below(4); left > 0; --left) change(input);
        return input;
    }

private:
    std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
    std::string piece_of(const std::string& text) {
        if (text.empty()) return {};
        const std::size_t from = below(text.size());
        return text.substr(from, 1 + below(text.size() - from));
    }
    void change(std::string& input) {
        if (input.empty()) input = "x";
        const std::size_t at = below(input.size());
        switch (below(6)) {
            case 0: input[at] = static_cast<char>(input[at] ^ (1 << below(8))); break;
            case 1: input[at] = static_cast<char>(below(256)); break;
            case 2: input.erase(at, 1 + below(8)); break;
            case 3: input.insert(at, 1 + below(3), static_cast<char>(below(256))); break;
            case 4: input.insert(at, piece_of(input)); break;
            default: input.insert(at, piece_of(corpus_[below(corpus_.size())])); break;
        }
        if (input.size() > 65'536) input.resize(65'536);
    }

    std::vector<std::string> corpus_;
    std::mt19937_64 random_;
};

}  // namespace waybill::fuzz
