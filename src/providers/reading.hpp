#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/http.hpp"
#include "waybill/json/value.hpp"

namespace waybill::providers {

/// A request, and what it says in some place. Its body is parsed when someone first asks.
class Reading {
public:
    explicit Reading(const HttpRequest& request) : Reading(request, request.body) {}
    /// Of a body that says something else than its bytes: one that came compressed.
    Reading(const HttpRequest& request, std::string_view content)
        : request_(request), content_(content) {}

    /// What is in the first of these places ("header:X-Id|json:id") that has something; "=text" is
    /// that text, and "json:type+json:action" is both with a dot between. Texts and whole numbers
    /// count, empty texts do not.
    std::optional<std::string> find(std::string_view places);

    const HttpRequest& request() const { return request_; }
    /// Null: the body is not JSON, and problem() says why. Whole numbers beyond 64 bits are strings.
    const json::Value* body();
    /// "is not JSON: …", or that a member someone asked for is there twice. Empty: none so far.
    const std::string& problem() const { return problem_; }
    /// A member that was asked for is there twice: readers may differ in which one they take.
    bool is_ambiguous() const { return ambiguous_; }

private:
    std::optional<std::string> find_all(std::string_view places);
    std::optional<std::string> find_one(std::string_view place);
    std::optional<std::string> in_body(std::string_view path);
    /// Null: no such member or item.
    const json::Value* step(const json::Value& from, const std::string& name);

    const HttpRequest& request_;
    const std::string_view content_;
    bool parsed_ = false;
    std::optional<json::Value> body_{};
    std::string problem_{};
    bool ambiguous_ = false;
};

/// The names on the way: "order.id" or a JSON pointer, "/order/id", where ~1 is / and ~0 is ~.
std::vector<std::string> path_names(std::string_view path);

/// The part up to `mark`, taken off the front of `rest` together with the mark.
std::string_view cut(std::string_view& rest, char mark);

/// Whether this can be looked up at all: "header:NAME", "query:NAME", "form:NAME", "json:PATH".
bool is_place(std::string_view place);
/// Of "header:NAME", or of a NAME alone. Empty: it is no place of a header.
std::string_view header_name(std::string_view place);

}  // namespace waybill::providers
