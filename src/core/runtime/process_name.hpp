#pragma once

#include <array>
#include <string>

#include <unistd.h>

namespace waybill::runtime {

/// Who we are when nobody gave us a name: "host:1234".
inline std::string host_and_process() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host[0] = '?';
    return std::string{host.data()} + ":" + std::to_string(::getpid());
}

}  // namespace waybill::runtime
