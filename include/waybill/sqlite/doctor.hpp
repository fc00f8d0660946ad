#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waybill/finding.hpp"
#include "waybill/notebook.hpp"
#include "waybill/target.hpp"
#include "waybill/time.hpp"

namespace waybill::sqlite {

/// From where on something is worth a word.
struct DoctorOptions {
    /// A message that has waited for so long.
    Duration old_message = std::chrono::minutes{5};
    /// Room left on the disk.
    std::uint64_t free_bytes = std::uint64_t{512} << 20;
    /// A journal that was not copied into the file.
    std::uint64_t journal_bytes = std::uint64_t{256} << 20;

    bool operator==(const DoctorOptions&) const = default;
};

/// A registered target, and how many messages it has yet to end.
struct Waiting {
    Target target{};
    std::uint64_t waiting = 0;
};

/// What was found.
struct Examined {
    /// The worst first.
    Findings findings{};
    /// For whoever knows which are served.
    std::vector<Waiting> targets{};
};

/// Looks at a file without opening it as a store, and changes nothing: whoever has it open goes on. Reads all
/// of it. One that is not there or cannot be read is a finding.
Examined examine(const std::string& path, const DoctorOptions& options = {});

/// Notes of a store, looked at in the same way, all whose names begin so. None where the file holds no store of
/// this version. Throws StoreError.
std::vector<Note> notes_in(const std::string& path, const std::string& prefix);

}  // namespace waybill::sqlite
