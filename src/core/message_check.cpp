#include "waybill/message_check.hpp"

#include "core/text.hpp"
#include "core/wording.hpp"

namespace waybill {
namespace {

using detail::grouped;
using detail::in_quotes;

std::string too_long(const std::string& what, std::size_t bytes, std::uint64_t bytes_max) {
    return what + " has " + grouped(bytes) + " bytes; at most " + grouped(bytes_max) +
           " are allowed";
}

void check_field(const char* name, const std::string& value, Problems& problems) {
    if (value.size() > field_bytes_max) {
        problems.push_back(too_long(name, value.size(), field_bytes_max));
    }
    if (!is_storable_text(value)) {
        problems.push_back(std::string{name} + " must be UTF-8 without NUL");
    }
}

void check_attribute(const std::string& name, const std::string& value, Problems& problems) {
    const std::string what = "attribute " + in_quotes(name);
    if (name.empty()) {
        problems.push_back("attributes has an empty name; each attribute needs one");
    }
    if (name.size() > attribute_name_bytes_max) {
        problems.push_back(too_long("the name of " + what, name.size(), attribute_name_bytes_max));
    }
    if (!is_plain_text(name)) {
        problems.push_back("the name of " + what + " must be UTF-8 without control characters");
    }
    if (!is_storable_text(value)) {
        problems.push_back(what + " must be UTF-8 without NUL");
    }
}

void check_attributes(const Attributes& attributes, Problems& problems) {
    if (attributes.size() > attributes_max) {
        problems.push_back("attributes has " + grouped(attributes.size()) + " entries; at most " +
                           grouped(attributes_max) + " are allowed");
    }
    std::size_t bytes = 0;
    for (const auto& [name, value] : attributes) {
        bytes += name.size() + value.size();
    }
    if (bytes > attributes_bytes_max) {
        problems.push_back(
            too_long("attributes (all names and values)", bytes, attributes_bytes_max));
    }
    std::size_t seen = 0;
    for (const auto& [name, value] : attributes) {
        if (++seen > attributes_max) break;  // a bound on the answer too
        check_attribute(name, value, problems);
    }
}

}  // namespace

Problems check(const Message& message, const BoxOptions& options) {
    Problems problems;
    if (!is_box_name(message.box)) {
        problems.push_back("box " + in_quotes(message.box) +
                           " must be named with 1 … 128 of A-Z a-z 0-9 _ . -");
    }
    if (message.type.empty()) {
        problems.push_back("type is empty; every message needs one, such as \"order.placed\"");
    }
    check_field("type", message.type, problems);
    check_field("source", message.source, problems);
    check_field("content_type", message.content_type, problems);
    check_field("tenant", message.tenant, problems);
    check_field("user", message.user, problems);
    check_field("correlation_id", message.correlation_id, problems);
    check_field("lane", message.lane, problems);
    check_field("dedup_key", message.dedup_key, problems);
    check_field("collapse_key", message.collapse_key, problems);
    check_attributes(message.attributes, problems);
    if (message.body.size() > options.body_bytes_max) {
        problems.push_back(too_long("body", message.body.size(), options.body_bytes_max) +
                           " (body_bytes_max of its box)");
    }
    return problems;
}

}  // namespace waybill
