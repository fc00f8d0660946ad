#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/intake.hpp"
#include "waybill/provider.hpp"

namespace waybill::intake {

/// A source with what it needs to be served.
struct BoundSource {
    Source source{};
    std::shared_ptr<const Provider> provider{};
};

/// What is wrong with one of the sources: with what `key` of it, and what to do. No key: with the whole.
struct SourceProblem {
    std::size_t source = 0;
    std::string_view key{};
    std::string text{};
};

/// All that would keep an intake from serving them.
std::vector<SourceProblem> check(const std::vector<Source>& sources, const IntakeOptions& options);

/// The sources of an intake, by path. Never changed: new ones replace it as a whole.
class Sources {
public:
    /// Throws ConfigError with all problems of all of them.
    Sources(std::vector<Source> sources, const IntakeOptions& options);

    /// Null: nobody is there.
    const BoundSource* find(std::string_view path) const;
    /// One of them may take an id from where no signature covers it.
    bool may_have_weak_ids() const;

private:
    const std::string prefix_;
    std::vector<BoundSource> all_;
    std::map<std::string, const BoundSource*, std::less<>> by_name_;  ///< lower case
    std::map<std::string, const BoundSource*, std::less<>> by_path_;
};

}  // namespace waybill::intake
