#include <algorithm>

#include "core/engine/machine.hpp"
#include "core/text.hpp"
#include "core/wording.hpp"

/// What the store does not carry out: pauses grow with it, and people are told once it lasts.
namespace waybill::engine {
namespace {

using namespace std::chrono_literals;

/// What is over within this is no news.
constexpr Duration kNews = 3s;
constexpr std::size_t kTextBytesMax = 600;
/// Whoever was held back and is not tried so long after its time has left.
constexpr Duration kGone = 1min;

/// Not a call of the channel.
constexpr std::size_t kBeats = std::variant_size_v<ChannelCall>;

template <class Call>
bool is_of(const Refusal& refusal) {
    return refusal.kind == ChannelCall{Call{}}.index();
}

std::string_view name_of(const Refusal& refusal) {
    if (refusal.kind == kBeats) {
        return "beats";
    }
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

void Machine::note_beat_refused(const Failure& failure) {
    if (!refusal_) {
        refusal_ = {.kind = kBeats, .since = now_};
    }
    if (refusal_->kind == kBeats) {
        refusal_->text = failure.text;
    }
}

void Machine::note_beat_accepted() {
    if (refusal_ && refusal_->kind == kBeats) {
        refusal_.reset();
    }
    forget_void_refusal();
}

/// The store's own state, or a connection, is nobody's fault; and what has just begun may be over in a moment.
bool Machine::may_be_one_row(const Failure& failure) const {
    const bool is_of_statement =
        failure.reaction == Reaction::retry || failure.reaction == Reaction::give_up;
    return is_of_statement && refusal_ && is_of<SettleBatch>(*refusal_) &&
           now_ - refusal_->since >= kNews;
}

/// Reads that succeed say nothing of results that cannot be stored, nor do other results.
void Machine::note_accepted(const ChannelCall& call) {
    std::erase_if(held_back_, [&](const auto& one) { return later(one.second, kGone) <= now_; });
    if (refusal_ && refusal_->kind == call.index() && !held_back_.empty()) {
        channel_failures_ = 0;
    } else if (refusal_ && refusal_->kind == call.index()) {
        if (now_ - refusal_->since >= kNews) {
            emit({.kind = Event::Kind::accepted, .text = name_of(*refusal_)});
        }
        refusal_.reset();
    }
    forget_void_refusal();
}

/// What is not asked any more is not refused, either: it is others' now, or an inline transaction writes it.
void Machine::forget_void_refusal() {
    const auto writes_itself = [](const Work* work) { return work->inline_running > 0; };
    const bool is_void =
        refusal_ && !is_of<DeclareCall>(*refusal_) &&
        (owned_.empty() || (is_of<SettleBatch>(*refusal_) && sent_.empty() && answers_.empty() &&
                            std::ranges::all_of(dirty_, writes_itself)));
    if (is_void) {
        refusal_.reset();
    }
    if (!refusal_ || refusal_->kind == kBeats) {
        channel_failures_ = 0;
    }
}

std::string Machine::refused() const {
    if (!refusal_ || now_ - refusal_->since < kNews) {
        return {};
    }
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now_ - refusal_->since);
    return std::string{name_of(*refusal_)} + " for " + detail::readable(seconds) + ": " +
           clean_text(refusal_->text, kTextBytesMax);
}

}  // namespace waybill::engine
