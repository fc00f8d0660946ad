#pragma once

#include <functional>
#include <string>

#include "waybill/outcome.hpp"
#include "waybill/work.hpp"

namespace waybill {

/// A delivery to run inside the store's own transaction.
struct InlineRequest {
    Fence fence{};
    Sequence sequence = 0;
    Uuid message{};
    std::string target{};
};

/// How a run inside the transaction ended.
struct InlineResult {
    enum class Record : std::uint8_t {
        not_done,  ///< the body said Fail, Defer or Dead: rolled back, `outcome` has it
        recorded,  ///< the effects and the success committed together
        already,   ///< an earlier run had committed: this one was rolled back
        lost,      ///< the partition is no longer ours: rolled back
        unknown,   ///< the answer to COMMIT was lost; a later run finds out (`already`)
    };
    Record record = Record::not_done;
    Outcome outcome{};
};

/// Exactly-once effects: the handler's writes, its progress and the fence commit in one round trip. Of two runs of one delivery,
/// an owner's that lost the partition in the middle and its successor's, both call the body and one commits.
class InlineStore {
public:
    virtual ~InlineStore() = default;
    /// `body` gets the adapter's native transaction handle. An exception of the body rolls back and
    /// is passed on.
    virtual InlineResult run_inline(const InlineRequest& request,
                                    const std::function<Outcome(void* native)>& body) = 0;
};

}  // namespace waybill
