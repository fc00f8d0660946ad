#include "cli/bulk.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <stdexcept>

#include <unistd.h>

#include "cli/listing.hpp"
#include "cli/progress.hpp"
#include "core/runtime/system_random.hpp"
#include "waybill/json.hpp"
#include "waybill/uuid.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

/// So many at once: what is shown moves, and others have their turn at the desk.
constexpr std::uint64_t kStep = 500;

std::string counted(const std::string& count, const BulkWords& words) {
    return count + " " + (count == "1" ? words.one : words.many);
}

void wait_as_told(const Value& result) {
    const Value* const wait = result.find("wait_ms");
    if (wait == nullptr) return;
    const auto microseconds = static_cast<useconds_t>(wait->as_uint64() * 1000);
    ::usleep(microseconds);  // lint: allow(seams) somebody asked for a slow order
}

/// Until all are handled, or as many as were asked for.
Value carry_out(OperatorDesk& desk, const BulkWords& words, std::uint64_t wanted,
                const std::string& operation, bool for_program) {
    std::optional<Progress> progress;
    for (std::uint64_t handled = 0;;) {
        const std::uint64_t step = std::min(kStep, wanted - handled);
        Value result =
            desk.post(words.order_request + "&limit=" + std::to_string(step), {}, operation);
        handled = result.find("carried_out")->as_uint64() + result.find("refused")->as_uint64();
        if (!progress && !for_program) {
            progress.emplace(words.many + " gone through",
                             std::min(result.find("total")->as_uint64(), wanted));
        }
        if (progress) progress->at(handled);
        if (!result.find("capped")->as_bool() || handled >= wanted) return result;
        wait_as_told(result);
    }
}

}  // namespace

int operate_on_many(OperatorDesk& desk, const Arguments& arguments, const BulkWords& words) {
    const std::uint64_t there = desk.get(words.count_request).find("count")->as_uint64();
    const std::uint64_t wanted = arguments.number("limit", UINT64_MAX);
    const std::string shown = std::to_string(std::min(there, wanted));
    const bool goes_on = arguments.has("operation");
    if (there == 0 && !goes_on && !arguments.has("json")) {
        std::cout << "no " << words.one << " matches: nothing to " << words.verb << "\n";
        return 0;
    }
    if (!confirmed(arguments, goes_on ? "go on to " + words.verb + " " + words.many + "?"
                                      : words.verb + " " + counted(shown, words) + "?")) {
        return 1;
    }
    const std::string operation =
        arguments.value("operation", to_string(random_uuid(thread_random())));
    const bool for_program = arguments.has("json");
    if (!for_program) std::cout << words.verb << ": operation " << operation << "\n";
    Value result;
    try {
        result = carry_out(desk, words, wanted, operation, for_program);
    } catch (const std::exception& error) {
        const bool is_of_another =
            std::string_view{error.what()}.find("for another order") != std::string_view::npos;
        if (is_of_another) throw;
        throw std::runtime_error(error.what() +
                                 std::string{"; the same command with --operation "} + operation +
                                 " goes on");
    }
    const bool is_whole =
        result.find("cancelled") == nullptr && result.find("refused")->as_uint64() == 0;
    if (for_program) {
        Object whole = result.as_object();
        whole.emplace_back("operation", operation);
        std::cout << json::to_text(whole) << "\n";
        return is_whole ? 0 : 1;
    }
    std::cout << text_of(result, "carried_out") << " done, " << text_of(result, "refused")
              << " refused, " << text_of(result, "remaining") << " remaining\n";
    if (const std::string refusal = text_of(result, "refusal"); !refusal.empty()) {
        std::cout << "refused: " << refusal << "\n";
    }
    if (result.find("cancelled") != nullptr) {
        std::cout << "cancelled by somebody's order\n";
    }
    return is_whole ? 0 : 1;
}

int print_outcome(const Arguments& arguments, const Value& result, const BulkWords& words) {
    const bool is_refused = result.find("carried_out")->as_uint64() == 0;
    if (is_refused && !arguments.has("json")) {
        throw std::runtime_error(text_of(result, "refusal"));
    }
    print_result(arguments, result,
                 counted(text_of(result, "carried_out"), words) + " " + words.done);
    return result.find("refused")->as_uint64() == 0 ? 0 : 1;
}

}  // namespace waybill::cli
