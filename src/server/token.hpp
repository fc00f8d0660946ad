#pragma once

#include <optional>
#include <string>

namespace waybill::server {

/// 256 bits nobody can guess, in hexadecimal.
std::string make_token();

/// How the command line finds the server that has a store open: a file beside the store, which only
/// its owner can read.
struct LocalAccess {
    std::string url{};
    std::string token{};
    /// https: the key of the server, which need not be trusted by anybody else. Else empty.
    std::string key_pin{};

    bool operator==(const LocalAccess&) const = default;
};

/// waybill.db -> waybill.db.server, beside the file itself: links to it lead to the same.
std::string local_access_file(const std::string& store_file);
void write_local_access(const std::string& file, const LocalAccess& access);
/// Nothing: no such file, or not one of ours.
std::optional<LocalAccess> read_local_access(const std::string& file);

/// A file that only its owner can read. Throws std::runtime_error.
void write_private_file(const std::string& path, const std::string& content);

}  // namespace waybill::server
