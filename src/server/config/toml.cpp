/// The only file that sees toml++.
#include <sstream>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "server/config/node.hpp"
#include "waybill/problems.hpp"

namespace waybill::server {
namespace {

Node to_node(const toml::node& from) {
    Node to;
    to.line = from.source().begin.line;
    if (const toml::table* table = from.as_table()) {
        to.kind = Node::Kind::table;
        for (const auto& [key, value] : *table) {
            to.members.emplace_back(std::string{key.str()}, to_node(value));
            // The line of a key tells more than that of the table it opens.
            to.members.back().second.line = key.source().begin.line;
        }
    } else if (const toml::array* array = from.as_array()) {
        to.kind = Node::Kind::array;
        for (const toml::node& item : *array) to.items.push_back(to_node(item));
    } else if (const auto* text = from.as_string()) {
        to.kind = Node::Kind::text;
        to.text = text->get();
    } else if (const auto* integer = from.as_integer()) {
        to.kind = Node::Kind::integer;
        to.integer = integer->get();
    } else if (const auto* real = from.as_floating_point()) {
        to.kind = Node::Kind::real;
        to.real = real->get();
    } else if (const auto* boolean = from.as_boolean()) {
        to.kind = Node::Kind::boolean;
        to.boolean = boolean->get();
    } else {
        to.kind = Node::Kind::other;
    }
    return to;
}

}  // namespace

Node parse_toml(std::string_view text, const std::string& file) {
    try {
        return to_node(toml::parse(text, file));
    } catch (const toml::parse_error& error) {
        throw ConfigError{{file + ":" + std::to_string(error.source().begin.line) +
                           ": this is not TOML: " + std::string{error.description()}}};
    }
}

}  // namespace waybill::server
