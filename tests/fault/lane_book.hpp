#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fault/instances.hpp"

namespace waybill::fault {

/// Holds what instances told against the promises of strict lanes: one in flight, forwards only, the next
/// only when the one before is over, nothing counted as failed that was not meant to fail. What an instance
/// that was killed or frozen had begun is not held against it: it may be done again elsewhere.
class LaneBook {
public:
    void hear(const Told& told);
    void hear(const std::vector<Instances::Heard>& all) {
        for (const Instances::Heard& heard : all) hear(heard.told);
    }

    /// What was broken, in words. Empty: every promise was kept.
    std::string problems() const;
    /// How often each (target, message) was called.
    const std::map<std::pair<std::string, std::string>, int>& runs() const { return runs_; }

private:
    using Lane = std::tuple<std::string, std::string, std::string>;
    struct State {
        std::int64_t current = -1;
        std::string running_in{};  ///< empty: nobody runs it
        bool is_over = true;
        /// Whoever ran it died, or was frozen, before it was over for all to see.
        bool is_unsure = false;
    };

    void started(const Told& told);
    void ended(const Told& told);
    void left(const std::string& instance);
    void blame(const std::string& what, const Told& told);

    std::map<Lane, State> lanes_{};
    std::map<std::pair<std::string, std::string>, int> runs_{};
    /// Frozen once, and not yet told by the store what it lost.
    std::set<std::string> behind_the_times_{};
    std::vector<std::string> broken_{};
};

}  // namespace waybill::fault
