#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "waybill/time.hpp"

namespace waybill::postgres {

/// What a connection of ours is for.
enum class Role : std::uint8_t {
    hot,      ///< its few statements always go by their indexes
    people,   ///< by indexes where there are any, else as usual
    handler,  ///< is given to inline handlers, whose statements are their own affair
};

/// How to reach a server, and how long to wait for it.
struct Address {
    /// As PQconnectdb takes it: a URL or `key=value` words; several hosts are tried in turn.
    std::string conninfo{};
    std::string schema = "waybill";
    /// For a connection, and for each call.
    Duration deadline = std::chrono::seconds{5};
    Role role = Role::hot;
    /// So long a transaction may stand still between two of its statements. Ours wait for nobody: one that stands still
    /// longer has lost its process or its network, and the locks it holds are others' time.
    Duration idle_max = std::chrono::seconds{2};
    /// Which of several hosts answered last; shared by the connections of a store.
    std::shared_ptr<std::atomic<std::size_t>> last_host =
        std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace waybill::postgres
