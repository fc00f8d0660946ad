#include "intake/sources.hpp"

#include <algorithm>
#include <utility>

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

std::string known_keys(const Own& own) {
    std::string list;
    for (const auto& [key, provider] : own) list += key + ", ";
    for (const std::string_view key : providers::keys()) list += std::string{key} + ", ";
    list.resize(list.size() - 2);
    return list;
}

bool is_source_name(std::string_view name) {
    return is_box_name(name) && name.size() <= kNameBytesMax;
}

}  // namespace

Sources::Sources(std::vector<Source> sources, const IntakeOptions& options)
    : prefix_(options.prefix) {
    Problems problems;
    const Own own = own_providers(options, problems);
    all_.reserve(sources.size());  // pointers to them are kept
    for (Source& source : sources) {
        const std::string where = "source " + detail::in_quotes(source.name) + ": ";
        const auto add = [&](const std::string& problem) { problems.push_back(where + problem); };
        if (!is_source_name(source.name)) add("name must be 1 … 64 of A-Z a-z 0-9 _ . -");
        if (!is_box_name(source.box)) add("box must be the name of a box");
        if (!source.path.empty() && !source.path.starts_with('/')) add("path must begin with /");
        const auto mine = own.find(lower_ascii(source.provider));
        BoundSource bound{.provider =
                              mine != own.end() ? mine->second : providers::find(source.provider)};
        if (bound.provider == nullptr) {
            add("provider " + detail::in_quotes(source.provider) +
                " is not known; these are: " + known_keys(own));
            continue;
        }
        for (const std::string& problem : bound.provider->check(source)) add(problem);
        bound.source = std::move(source);
        const BoundSource* kept = &all_.emplace_back(std::move(bound));
        if (!by_name_.emplace(lower_ascii(kept->source.name), kept).second) {
            add("the name is there twice");
        }
        if (!kept->source.path.empty() && !by_path_.emplace(kept->source.path, kept).second) {
            add("path " + detail::in_quotes(kept->source.path) + " is there twice");
        }
    }
    if (!problems.empty()) throw ConfigError{std::move(problems)};
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
