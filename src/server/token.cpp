#include "server/token.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include "core/signing/random_bytes.hpp"
#include "waybill/signing.hpp"

namespace waybill::server {

std::string make_token() {
    return signing::to_hex(signing::random_bytes(32));
}

std::string local_access_file(const std::string& store_file) {
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::canonical(store_file, ignored);
    return (ignored ? store_file : real.string()) + ".server";
}

void write_private_file(const std::string& path, const std::string& content) {
    const std::string fresh = path + ".new";
    ::unlink(fresh.c_str());
    const int file = ::open(fresh.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    const bool written = file >= 0 && ::write(file, content.data(), content.size()) ==
                                          static_cast<ssize_t>(content.size());
    if (file >= 0) ::close(file);
    if (!written || ::rename(fresh.c_str(), path.c_str()) != 0) {
        throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
    }
}

void write_local_access(const std::string& file, const LocalAccess& access) {
    write_private_file(file, access.url + "\n" + access.token + "\n" + access.key_pin + "\n");
}

std::optional<LocalAccess> read_local_access(const std::string& file) {
    std::ifstream input{file};
    LocalAccess access;
    if (!std::getline(input, access.url) || !std::getline(input, access.token)) return std::nullopt;
    std::getline(input, access.key_pin);
    return access;
}

}  // namespace waybill::server
