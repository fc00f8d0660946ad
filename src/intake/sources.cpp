#include "intake/sources.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/nearest.hpp"
#include "core/text.hpp"
#include "core/wording.hpp"
#include "waybill/box.hpp"
#include "waybill/providers.hpp"

namespace waybill::intake {
namespace {

constexpr std::size_t kNameBytesMax = 64;

using Own = std::map<std::string, std::shared_ptr<const Provider>, std::less<>>;

Own own_providers(const IntakeOptions& options, Problems& problems) {
    Own own;
    for (const auto& provider : options.providers) {
        const std::string key = lower_ascii(provider->key());
        if (providers::find(key) != nullptr || !own.emplace(key, provider).second) {
            problems.push_back("provider " + detail::in_quotes(key) +
                               " is there twice; give yours another key");
        }
    }
    return own;
}

/// Null: there is none of that name.
std::shared_ptr<const Provider> find_provider(const Own& own, const std::string& key) {
    const auto mine = own.find(lower_ascii(key));
    return mine != own.end() ? mine->second : providers::find(key);
}

std::string problem_of_provider(const Own& own, const std::string& key) {
    std::vector<std::string> known;
    for (const auto& [name, provider] : own) known.push_back(name);
    for (const std::string_view name : providers::keys()) known.emplace_back(name);
    const std::string close = nearest(key, known);
    return detail::in_quotes(key) + " is not a provider; " +
           (close.empty() ? "use \"generic\"" : "did you mean " + detail::in_quotes(close) + "?");
}

bool is_source_name(std::string_view name) {
    return is_box_name(name) && name.size() <= kNameBytesMax;
}

/// As it can be in a request line, up to the query.
bool is_path(std::string_view path) {
    return path.starts_with('/') && std::ranges::all_of(path, [](char c) {
               return c > ' ' && c < 0x7f && c != '?' && c != '#';
           });
}

/// Reads the sources one after the other, and remembers whose name and path were there before.
class Checker {
public:
    Checker(const Own& own, const IntakeOptions& options) : own_(own), options_(options) {}

    std::vector<SourceProblem> check(const std::vector<Source>& sources) {
        for (const Source& source : sources) {
            check_one(source);
            ++index_;
        }
        for (index_ = 0; index_ < sources.size(); ++index_) check_path(sources[index_]);
        return std::move(problems_);
    }

private:
    void add(std::string_view key, std::string text) {
        problems_.push_back({index_, key, std::move(text)});
    }

    void check_one(const Source& source) {
        if (!is_source_name(source.name)) {
            add("", "the name must be 1 … 64 of A-Z a-z 0-9 _ . -");
        } else if (const auto [first, fresh] = names_.emplace(lower_ascii(source.name), index_);
                   !fresh) {
            add("", "the name is there twice, but for its case; choose another");
        }
        if (!is_box_name(source.box)) add("box", "must be the name of a box");
        if (const auto provider = find_provider(own_, source.provider)) {
            for (const std::string& problem : provider->check(source)) add("", problem);
        } else {
            add("provider", problem_of_provider(own_, source.provider));
        }
    }

    void check_path(const Source& source) {
        if (source.path.empty()) return;
        if (!is_path(source.path)) {
            return add("path", detail::in_quotes(source.path) +
                                   " is not a path; it begins with / and has no space, ? or #");
        }
        if (!paths_.insert(source.path).second) {
            return add("path", detail::in_quotes(source.path) + " is another source's, too");
        }
        if (!source.path.starts_with(options_.prefix)) return;
        const auto named = names_.find(lower_ascii(source.path.substr(options_.prefix.size())));
        if (named != names_.end() && named->second != index_) {
            add("path", detail::in_quotes(source.path) + " is where another source is by its name");
        }
    }

    const Own& own_;
    const IntakeOptions& options_;
    std::size_t index_ = 0;
    std::vector<SourceProblem> problems_{};
    std::map<std::string, std::size_t> names_{};
    std::set<std::string> paths_{};
};

}  // namespace

std::vector<SourceProblem> check(const std::vector<Source>& sources, const IntakeOptions& options) {
    Problems ignored;
    const Own own = own_providers(options, ignored);
    return Checker{own, options}.check(sources);
}

Sources::Sources(std::vector<Source> sources, const IntakeOptions& options)
    : prefix_(options.prefix) {
    Problems problems;
    const Own own = own_providers(options, problems);
    for (const SourceProblem& problem : Checker{own, options}.check(sources)) {
        problems.push_back("source " + detail::in_quotes(sources[problem.source].name) + ": " +
                           std::string{problem.key} + (problem.key.empty() ? "" : " ") +
                           problem.text);
    }
    if (!problems.empty()) throw ConfigError{std::move(problems)};
    all_.reserve(sources.size());  // pointers to them are kept
    for (Source& source : sources) {
        auto provider = find_provider(own, source.provider);
        const BoundSource* const kept =
            &all_.emplace_back(BoundSource{std::move(source), std::move(provider)});
        by_name_.emplace(lower_ascii(kept->source.name), kept);
        if (!kept->source.path.empty()) by_path_.emplace(kept->source.path, kept);
    }
}

bool Sources::may_have_weak_ids() const {
    return std::ranges::any_of(all_, [](const BoundSource& one) {
        const auto info = providers::info(one.source.provider);
        return !info || !info->id_is_signed || !one.source.event_id.empty();
    });
}

const BoundSource* Sources::find(std::string_view path) const {
    if (const auto fixed = by_path_.find(path); fixed != by_path_.end()) return fixed->second;
    if (!path.starts_with(prefix_)) return nullptr;
    const auto named = by_name_.find(lower_ascii(path.substr(prefix_.size())));
    return named == by_name_.end() ? nullptr : named->second;
}

}  // namespace waybill::intake
