#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace waybill::intake {

/// The last bodies that came under an id nobody signed. A request that was captured can be sent
/// again under a fresh id: then the body is known.
///
/// Thread safety: any thread.
class SeenBodies {
public:
    explicit SeenBodies(std::size_t bodies_max) : bodies_max_(bodies_max) {}

    /// Another id under which this body came before; nothing: it is new, or came under this id.
    /// `hash` is that of the source and the body.
    std::optional<std::string> note(const std::string& hash, const std::string& id);

private:
    const std::size_t bodies_max_;
    std::mutex mutex_;  ///< guards the two below
    std::unordered_map<std::string, std::string> id_by_hash_;
    std::deque<std::string> oldest_first_;
};

}  // namespace waybill::intake
