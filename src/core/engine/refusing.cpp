#include "core/engine/machine.hpp"
#include "core/wording.hpp"

/// What the store does not carry out: pauses grow with it, and people are told once it lasts.
namespace waybill::engine {
namespace {

using namespace std::chrono_literals;

/// What is over within this is no news.
constexpr Duration kNews = 3s;

template <class Call>
bool is_of(const Refusal& refusal) {
    return refusal.kind == ChannelCall{Call{}}.index();
}

std::string_view name_of(const Refusal& refusal) {
    if (is_of<SettleBatch>(refusal)) {
        return "results";
    }
    return is_of<ReadRequest>(refusal) ? "reads" : "declarations";
}

}  // namespace

/// Not of takes and gives: whoever takes does not ask again, and for a give nobody waits here.
void Machine::note_refusal(const ChannelCall& call, const Failure& failure) {
    const bool is_repeated =
        !std::holds_alternative<TakeCall>(call) && !std::holds_alternative<GiveCall>(call);
    if (!refusal_ && is_repeated) {
        refusal_ = {.kind = call.index(), .since = now_};
    }
    if (refusal_ && refusal_->kind == call.index()) {
        refusal_->text = failure.text;
    }
}

/// Reads that succeed say nothing of results that cannot be stored.
void Machine::note_accepted(const ChannelCall& call) {
    if (refusal_ && refusal_->kind == call.index()) {
        emit({.kind = Event::Kind::accepted, .text = name_of(*refusal_)});
        refusal_.reset();
    }
    const bool is_void = refusal_ && is_of<SettleBatch>(*refusal_) && dirty_.empty() &&
                         sent_.empty() && answers_.empty();
    if (is_void) {
        refusal_.reset();  // they are others' now
    }
    if (!refusal_) {
        channel_failures_ = 0;
    }
}

std::string Machine::refused() const {
    if (!refusal_ || now_ - refusal_->since < kNews) {
        return {};
    }
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now_ - refusal_->since);
    return std::string{name_of(*refusal_)} + " for " + detail::readable(seconds) + ": " +
           refusal_->text;
}

}  // namespace waybill::engine
