#pragma once

#include <optional>

#include "providers/reading.hpp"
#include "providers/scheme.hpp"

namespace waybill::providers {

/// A provider that is an entry of the catalogue.
class CatalogueProvider final : public Provider {
public:
    explicit CatalogueProvider(const Entry& entry) : entry_(entry) {}

    std::string_view key() const override { return entry_.key; }
    Problems check(const Source& source) const override;
    Verdict receive(const Arrival& arrival) const override;

    const Entry& entry() const { return entry_; }
    /// The one the request was made for.
    Scheme scheme_for(const Source& source, Reading& reading) const;

private:
    Verdict verified_event(const Arrival& arrival, Reading& reading) const;

    const Entry& entry_;
};

/// Null: it is not one of the catalogue.
const CatalogueProvider* find_in_catalogue(std::string_view key);

}  // namespace waybill::providers
