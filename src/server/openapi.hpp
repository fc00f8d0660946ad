#pragma once

#include <span>
#include <string_view>

#include "waybill/json/value.hpp"

namespace waybill::server {

/// One thing the server answers to.
struct Route {
    std::string_view method{};
    /// {id} stands for anything.
    std::string_view path{};
    std::string_view summary{};
    /// Names of what may be in the query, apart by spaces.
    std::string_view query{};
    /// Members of the body, apart by spaces; those with ? may be left out.
    std::string_view body{};
    bool needs_token = true;
};

std::span<const Route> routes();

/// For whoever opens the printed URL in a browser.
json::Value what_is_here();
/// OpenAPI 3.1 of all routes.
json::Value openapi();

}  // namespace waybill::server
