#pragma once

#include <cstdint>

namespace waybill::deliver {

/// Every request is an open file.
struct Files {
    /// Requests under way at once.
    std::uint32_t requests = 0;
    /// Connections that are kept for the next one.
    std::uint32_t connections_kept = 0;

    bool operator==(const Files&) const = default;
};

/// What is right where a process may have so many files open. Pure.
Files files_within(std::uint64_t limit);

/// The usual limit of a process is 1,024, as it was for programs that knew no better, and it may raise that by itself:
/// does so, as far as it is allowed and we need. Children inherit it.
Files allow_files();

}  // namespace waybill::deliver
