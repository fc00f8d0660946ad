#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "waybill/http.hpp"
#include "waybill/notebook.hpp"
#include "waybill/uuid.hpp"

namespace waybill::server {

/// A dead letter that an order means, not one that the same delivery leaves later; or what a replay
/// means, with the generation its message had before.
struct LetterRef {
    std::string message{};
    std::string target{};
    std::uint32_t requeues = 0;

    bool operator==(const LetterRef&) const = default;
};

/// How far an order over many dead letters is.
struct BulkProgress {
    /// Letters that matched when it began. 0 with `counted`: none.
    std::uint64_t total = 0;
    bool counted = false;
    std::uint64_t carried_out = 0;
    std::uint64_t refused = 0;
    /// Why the first one was.
    std::string refusal{};
    /// The last of them, as a cursor (of a replay: the time after it); what came later is left alone.
    std::string last{};
    /// Where the next batch begins.
    std::string cursor{};
    /// Written down before it is carried out, so that what became of it is known after a crash: a
    /// letter that is gone by then was this order's.
    std::vector<LetterRef> batch{};
    /// Where the one after it begins; empty: it is the last.
    std::string after_batch{};
    /// A replay with a rate: how far its messages go by that rate, in microseconds since 1970.
    std::int64_t paced_at = 0;

    std::uint64_t handled() const { return carried_out + refused; }
    bool operator==(const BulkProgress&) const = default;
};

/// One order while it is carried out.
class Operation {
public:
    /// It was begun before and did not end: what it did then may be there already.
    bool begun_before = false;
    BulkProgress bulk{};
    /// It has not ended: the same order again goes on.
    bool unfinished = false;
    /// It ended before its time, because somebody ordered that.
    bool cancelled = false;
    /// For the record, where the answer itself has a secret in it.
    std::string kept_answer{};

    /// Writes `bulk` down; nothing when the order has no id.
    void save() const {
        if (write_down) write_down(*this);
    }
    std::function<void(const Operation&)> write_down{};

    /// Between two batches: whether it shall go no further, which is then so.
    bool must_end() {
        cancelled = cancelled || (is_cancelled && is_cancelled());
        return cancelled;
    }
    std::function<bool()> is_cancelled{};
};

/// Who ordered what, under which name.
struct OperationName {
    /// Empty: nobody will ask again.
    std::string id{};
    std::string actor{};
    /// Two orders of one id must be the same.
    std::string fingerprint{};
};

/// Orders that carry an id are carried out once: asked again, the first answer is given again, or the
/// interrupted work goes on. Another order under the same id is refused.
///
/// Thread safety: any thread; orders with ids wait for each other.
/// Errors:        StoreError.
class Operations {
public:
    using Order = std::function<HttpResponse(Operation&)>;

    explicit Operations(Notebook& notebook) : notebook_(notebook) {}

    HttpResponse carry_out(const OperationName& name, const Order& order);
    /// What is known of an order; nothing: it is not, or no longer.
    std::optional<HttpResponse> find(const std::string& id);
    /// An order over many goes no further than the batch it is at, whichever process carries it out. Nobody
    /// waits for that: find() says when it is over. Nothing: it is not known.
    std::optional<HttpResponse> cancel(const std::string& id, const std::string& actor);

private:
    Notebook& notebook_;
    std::mutex mutex_{};  ///< one order with an id at a time
};

}  // namespace waybill::server
