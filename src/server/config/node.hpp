#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waybill::server {

/// A configuration file as a tree: what a TOML library read, without its types.
struct Node {
    enum class Kind : std::uint8_t { table, array, text, integer, real, boolean, other };
    Kind kind = Kind::table;
    /// Of the file, from 1; 0: not from a file.
    std::uint32_t line = 0;
    std::string text{};
    std::int64_t integer = 0;
    double real = 0;
    bool boolean = false;
    /// Of a table, by name.
    std::vector<std::pair<std::string, Node>> members{};
    /// Of an array.
    std::vector<Node> items{};
};

/// The tree of a TOML text; throws ConfigError with file and line.
Node parse_toml(std::string_view text, const std::string& file);

/// As TOML writes it.
std::string in_quotes(std::string_view text);

}  // namespace waybill::server
