#include "server/unusable.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "server/deliver_options.hpp"
#include "server/store_access.hpp"
#include "waybill/sqlite/doctor.hpp"

namespace waybill::server {
namespace {

/// With a wrong key it is all of them.
constexpr std::size_t kNamedMost = 5;

/// Of a file that somebody else may have open: only for who lists.
class NotesOfAFile final : public Notebook {
public:
    explicit NotesOfAFile(std::string path) : path_(std::move(path)) {}

    std::optional<std::string> note(const std::string&) override { return std::nullopt; }
    std::vector<Note> notes(const std::string& prefix) override {
        return sqlite::notes_in(path_, prefix);
    }
    void keep_note(const std::string&, const std::string&, StoreTime) override {}
    void drop_note(const std::string&) override {}

private:
    const std::string path_;
};

bool is_disabled(const Subscription& one) {
    return one.problem.empty();
}

std::string text_of(const Subscription& one) {
    const std::string name = "subscription " + to_string(one.id);
    if (!is_disabled(one)) return name + " cannot be used, and its messages wait: " + one.problem;
    return name + " is disabled, and its messages wait";
}

/// In the store, and in the configuration as they are in force.
std::vector<Subscription> all_of(const Config& config, Notebook& notes) {
    SubscriptionBook book{notes, {}, sealing_key_of(config)};
    std::vector<Subscription> all = in_force(config.subscriptions, book);
    std::ranges::move(book.list(), std::back_inserter(all));
    return all;
}

/// Each thing that is sealed has a command of its own, which the problem names.
std::string fix_of(const Subscription& one) {
    const std::string id = to_string(one.id);
    if (is_disabled(one)) {
        return "waybill subscriptions test " + id + "     # does it answer?\n" +
               "waybill subscriptions enable " + id +
               "   # it gets all that waits; or, before: " + "waybill subscriptions skip " + id;
    }
    const std::string& text = one.problem;
    if (text.find('`') == std::string::npos) {
        return "waybill subscriptions remove " + id + "   # and add it again";
    }
    std::string fix = "# set secrets.key to the key they were sealed with; if it is lost:";
    for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
        const std::size_t end = text.find('`', at + 1);
        if (end == std::string::npos) break;
        fix += "\n" + text.substr(at + 1, end - at - 1);
        at = end + 1;
    }
    return fix;
}

std::string text_of_more(std::size_t count) {
    return std::to_string(count) +
           (count == 1 ? " more subscription gets" : " more subscriptions get") +
           " nothing either; `waybill subscriptions list` names them";
}

}  // namespace

std::vector<Subscription> in_force(std::vector<Subscription> fixed, SubscriptionBook& book) {
    if (fixed.empty()) return fixed;
    std::map<Uuid, SubscriptionStanding> standings;
    for (auto& [id, standing] : book.standings()) standings.emplace(id, std::move(standing));
    for (Subscription& one : fixed) {
        const auto found = standings.find(one.id);
        if (found != standings.end()) apply(found->second, one);
    }
    return fixed;
}

std::vector<Subscription> unusable_subscriptions(const Config& config) {
    const std::string file = file_of(config.store);
    std::vector<Subscription> all;
    if (is_shared(config.store)) {
        const auto access = open_store(config.store, store_options(config));
        const Schema schema = access->schema();
        if (schema.version == 0 || !schema.missing.empty()) return {};
        all = all_of(config, access->notebook());
    } else if (std::filesystem::exists(file)) {
        NotesOfAFile notes{file};
        all = all_of(config, notes);
    }
    std::erase_if(all, [](const Subscription& one) { return !is_unusable(one); });
    return all;
}

std::vector<std::string> texts_of(std::span<const Subscription> unusable) {
    std::vector<std::string> texts;
    for (const Subscription& one : unusable.first(std::min(kNamedMost, unusable.size()))) {
        texts.push_back(text_of(one));
    }
    if (unusable.size() > kNamedMost) texts.push_back(text_of_more(unusable.size() - kNamedMost));
    return texts;
}

Findings findings_of(std::span<const Subscription> unusable) {
    Findings findings;
    const auto add = [&](const char* name, std::string what, std::string fix) {
        findings.push_back({.severity = Finding::Severity::warning,
                            .name = name,
                            .what = std::move(what),
                            .means = "nothing is sent to it, and what it is owed stays open; the "
                                     "others go on",
                            .fix = std::move(fix)});
    };
    for (const Subscription& one : unusable.first(std::min(kNamedMost, unusable.size()))) {
        const bool has_reason = is_disabled(one) && !one.reason.empty();
        add(is_disabled(one) ? "disabled-subscription" : "unusable-subscription",
            text_of(one) + (has_reason ? ": " + one.reason : ""), fix_of(one));
    }
    if (unusable.size() > kNamedMost) {
        add("unusable-subscription", text_of_more(unusable.size() - kNamedMost),
            "waybill subscriptions list");
    }
    return findings;
}

}  // namespace waybill::server
