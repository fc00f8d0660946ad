#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "waybill/runtime.hpp"

namespace waybill::test {

/// Draws exactly these numbers, in this order, and refuses to invent more.
class ScriptedRandom final : public Random {
public:
    explicit ScriptedRandom(std::vector<std::uint64_t> draws) : draws_(std::move(draws)) {}

    std::uint64_t next() override {
        if (drawn_ == draws_.size()) throw std::logic_error("more was drawn than scripted");
        return draws_[drawn_++];
    }

    bool is_used_up() const { return drawn_ == draws_.size(); }

private:
    std::vector<std::uint64_t> draws_;
    std::size_t drawn_ = 0;
};

}  // namespace waybill::test
