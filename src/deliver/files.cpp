#include "deliver/files.hpp"

#include <algorithm>

#include <sys/resource.h>

#include "waybill/deliver.hpp"

namespace waybill::deliver {
namespace {

constexpr std::uint64_t kRequests = 4'096;
constexpr std::uint64_t kKept = 1'024;
/// The store's, the log's, and what the rest of the program opens.
constexpr std::uint64_t kOthers = 1'024;
constexpr std::uint64_t kNeeded = kRequests + kKept + kOthers;

}  // namespace

Files files_within(std::uint64_t limit) {
    const std::uint64_t within = std::min(limit, kNeeded);
    const auto part = [&](std::uint64_t of) {
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, of * within / kNeeded));
    };
    return {.requests = part(kRequests), .connections_kept = part(kKept)};
}

Files allow_files() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return files_within(kNeeded);
    if (files.rlim_cur < kNeeded) {
        rlimit more = files;
        more.rlim_cur = std::min<rlim_t>(kNeeded, files.rlim_max);
        if (::setrlimit(RLIMIT_NOFILE, &more) == 0) files = more;
    }
    return files_within(files.rlim_cur);
}

}  // namespace waybill::deliver

std::uint32_t waybill::Deliverer::at_once() const {
    return deliver::allow_files().requests;
}
