#include "core/wording.hpp"

#include <algorithm>
#include <array>

#include "core/text.hpp"

namespace waybill::detail {
namespace {

constexpr std::size_t kNameBytesMax = 80;

struct Unit {
    std::uint64_t ticks = 1;
    const char* name = "";
};

constexpr std::array kUnits{
    Unit{3'600'000'000, " h"}, Unit{60'000'000, " min"}, Unit{1'000'000, " s"},
    Unit{1'000, " ms"},        Unit{1, " us"},
};

}  // namespace

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t left = text.size(); left > 3; left -= 3) {
        text.insert(left - 3, ",");
    }
    return text;
}

std::string times(std::uint64_t number) {
    return number == 1 ? "once" : grouped(number) + " times";
}

std::string readable(Duration duration) {
    if (duration == forever) return "forever";
    if (duration == Duration::zero()) return "0 s";
    const bool negative = duration < Duration::zero();
    const auto count = static_cast<std::uint64_t>(duration.count());
    const std::uint64_t ticks = negative ? 0 - count : count;  // the least number has no opposite
    std::size_t unit = 0;
    while (ticks % kUnits[unit].ticks != 0) {
        ++unit;
    }
    return (negative ? "-" : "") + grouped(ticks / kUnits[unit].ticks) + kUnits[unit].name;
}

std::string in_quotes(std::string_view name) {
    std::string text = clean_text(name, kNameBytesMax);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return '"' + text + '"';
}

}  // namespace waybill::detail
