#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/catalogue.hpp"

namespace waybill::server {

/// A filter that was written wrongly; says which part and how to write it.
class BadQuery : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// What a listing asks for.
struct Listing {
    Filter filter{};
    std::string cursor{};
    std::uint32_t rows_max = 100;
};

/// box, type, source, target, tenant, reason, state, since, until, limit, cursor. Throws BadQuery.
Listing parse_listing(std::string_view query);
/// The same for an order over many, which a misspelt filter would make an order over all: throws
/// BadQuery for what no filter is called, nor one of `also`.
Listing parse_listing_of_order(std::string_view query, std::vector<std::string> also = {});

/// "2026-01-31", "2026-01-31T12:00:00Z", or seconds since 1970. Throws BadQuery.
StoreTime parse_time(std::string_view text);

/// For a query or a part of a path: what is not plain becomes %HH.
std::string url_encoded(std::string_view text);
/// Of a part of a path. What nobody encoded, such as a lone percent sign, stays as it is.
std::string url_decoded(std::string_view text);

}  // namespace waybill::server
