#include "settings.hpp"

#include <array>
#include <utility>

#include <sys/vfs.h>

#include "core/wording.hpp"
#include "waybill/slot.hpp"

namespace waybill::sqlite {
namespace {

/// From linux/magic.h and the file systems themselves: locks and shared memory of other hosts are
/// not seen there.
constexpr std::array<std::pair<unsigned long, const char*>, 6> kNetworks{{
    {0x6969, "NFS"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB2"},
    {0x517B, "SMB"},
    {0x00C36400, "Ceph"},
    {0x01021997, "9P"},
}};

}  // namespace

const char* network_of(const std::string& path) {
    struct statfs info {};
    if (::statfs(path.c_str(), &info) != 0) return nullptr;
    for (const auto& [magic, name] : kNetworks) {
        if (static_cast<unsigned long>(info.f_type) == magic) return name;
    }
    return nullptr;
}

Problems check_settings(Shared& shared) {
    Problems problems;
    const auto add = [&](const std::string& what) {
        problems.push_back("sqlite " + shared.path + ": " + what);
    };
    if (shared.options.synchronous == Synchronous::normal) {
        add("synchronous is NORMAL, so a power cut may lose what was acknowledged; use FULL");
    }
    if (const std::string mode = shared.open_reader()->db.pragma("pragma journal_mode");
        mode != "wal") {
        add("journal_mode is \"" + mode +
            "\" and not WAL: somebody changed it; close the file everywhere and open it again");
    }
    if (const char* network = network_of(shared.path)) {
        add(std::string{"the file is on a network file system ("} + network +
            "), where SQLite's locks do not hold; move it to a local disk");
    }
    return problems;
}

Problems check(const Options& options) {
    Problems problems;
    const auto bounded = [&](const char* name, Duration value) {
        if (value >= std::chrono::milliseconds{1} && value <= std::chrono::minutes{10}) return;
        problems.push_back("sqlite store: " + std::string{name} + " is " + detail::readable(value) +
                           "; choose 1 ms to 10 min");
    };
    if (options.partitions < 1 || options.partitions > slot_count) {
        problems.push_back("sqlite store: partitions is " + std::to_string(options.partitions) +
                           "; choose 1 to 1,024");
    }
    bounded("busy_timeout", options.busy_timeout);
    bounded("inline_deadline", options.inline_deadline);
    if (options.checkpoint_pages < 100 || options.checkpoint_pages > 1'000'000) {
        problems.push_back("sqlite store: checkpoint_pages is " +
                           std::to_string(options.checkpoint_pages) + "; choose 100 to 1,000,000");
    }
    return problems;
}

}  // namespace waybill::sqlite
