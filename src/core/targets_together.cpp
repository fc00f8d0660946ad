#include <algorithm>
#include <map>
#include <tuple>

#include "core/wording.hpp"
#include "waybill/target.hpp"

namespace waybill {
namespace {

using detail::in_quotes;

/// (box, key): targets of different boxes never meet.
using Name = std::pair<std::string_view, std::string_view>;

/// A key in use, and by which target.
struct Use {
    const Target* target = nullptr;
    bool is_legacy = false;
};

using Uses = std::map<Name, Use>;

std::string described(const Use& use) {
    return use.is_legacy ? "a legacy key of target " + in_quotes(use.target->key)
                         : "the key of a target";
}

void claim(std::string_view key, const Use& use, Uses& uses, Problems& problems) {
    const auto [at, is_new] = uses.try_emplace(Name{use.target->box, key}, use);
    if (is_new) return;
    problems.push_back("box " + in_quotes(use.target->box) + ": " + in_quotes(key) + " is " +
                       described(at->second) + " and again " + described(use) +
                       "; keys must differ, or one's progress counts for the other");
}

/// Current keys first, so that a legacy key that doubles one is the one blamed.
Uses claim_all(std::span<const Target> targets, Problems& problems) {
    Uses uses;
    for (const Target& target : targets) {
        claim(target.key, {&target, false}, uses, problems);
    }
    for (const Target& target : targets) {
        for (const std::string& key : target.legacy_keys) {
            claim(key, {&target, true}, uses, problems);
        }
    }
    return uses;
}

const Target* predecessor(const Target& target, const Uses& uses) {
    if (target.after.empty()) return nullptr;
    const auto at = uses.find({target.box, target.after});
    return at == uses.end() || at->second.is_legacy ? nullptr : at->second.target;
}

void check_known(const Target& target, const Uses& uses, Problems& problems) {
    if (target.after.empty() || predecessor(target, uses) != nullptr) return;
    const auto at = uses.find({target.box, target.after});
    const std::string why =
        at == uses.end() ? std::string{"no such target in its box; register it or clear after"}
                         : described(at->second) + "; name its current key";
    problems.push_back("target " + in_quotes(target.key) + ": after is " + in_quotes(target.after) +
                       ": " + why);
}

/// The circle `start` is on, from `start` round to the one before it; empty if it is on none.
std::vector<const Target*> circle_from(const Target& start, const Uses& uses, std::size_t targets) {
    std::vector<const Target*> path;
    for (const Target* at = &start; at != nullptr && path.size() < targets;
         at = predecessor(*at, uses)) {
        path.push_back(at);
        if (predecessor(*at, uses) == &start) return path;
    }
    return {};
}

std::string worded(const std::vector<const Target*>& circle) {
    std::string text = "target " + in_quotes(circle.front()->key) + ": after goes in a circle: ";
    for (const Target* target : circle) {
        text += in_quotes(target->key) + " after ";
    }
    return text + in_quotes(circle.front()->key) + "; none of them could ever start";
}

}  // namespace

Problems check_together(std::span<const Target> targets) {
    Problems problems;
    const Uses uses = claim_all(targets, problems);
    for (const Target& target : targets) {
        check_known(target, uses, problems);
    }
    for (const Target& target : targets) {
        const auto circle = circle_from(target, uses, targets.size());
        // Each circle is told once, by the first of its targets in the list.
        if (!circle.empty() && *std::min_element(circle.begin(), circle.end()) == &target) {
            problems.push_back(worded(circle));
        }
    }
    return problems;
}

}  // namespace waybill
