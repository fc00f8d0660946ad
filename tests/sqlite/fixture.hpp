#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/manual_clock.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/sqlite.hpp"

namespace waybill::test {

using namespace std::chrono_literals;

/// An opened file with the box "orders", driven call by call.
class OpenedStore {
public:
    explicit OpenedStore(const std::string& path, const sqlite::Options& options = {})
        : store(sqlite::open(path, options)) {
        store->migrate();
        const BoxDeclaration box{"orders", {.keep_done = Duration{}}};
        store->declare({&box, 1}, {});
    }

    static Append order(int number, std::size_t body_bytes = 100) {
        Uuid id;
        for (std::size_t i = 0; i < 4; ++i) {
            id.bytes[15 - i] = static_cast<std::uint8_t>(static_cast<unsigned>(number) >> (8 * i));
        }
        return {.message =
                    std::make_shared<const Message>(Message{.id = id,
                                                            .box = "orders",
                                                            .type = "order.placed",
                                                            .body = std::string(body_bytes, 'x')})};
    }
    AppendResult append(int number, std::size_t body_bytes = 100) {
        const Append item = order(number, body_bytes);
        return store->append({&item, 1}).front();
    }
    bool has(int number) { return store->get(order(number).message->id).has_value(); }

    /// Becomes the owner of everything.
    void take() {
        const InstanceState self{.incarnation = {{1}}, .name = "test", .boxes = {"orders"}};
        const BeatReply reply = store->beat(self);
        registry_version = reply.registry_version;
        std::vector<TakeRequest> wanted;
        for (const PartitionState& p : reply.partitions) wanted.push_back({p.id, p.token});
        taken = store->take(self.incarnation, wanted);
    }
    Fence fence() const { return {taken.at(0).partition, taken.at(0).token}; }
    std::vector<Entry> scan() {
        return store->read({.kind = ReadRequest::Kind::scan, .partition = taken.at(0).partition})
            .entries;
    }
    SettleReply finish(const Entry& row) {
        return store->settle({.registry_version = registry_version,
                              .fences = {fence()},
                              .items = {{.partition = row.partition,
                                         .sequence = row.sequence,
                                         .message = row.message->id,
                                         .finish = true}}});
    }

    std::shared_ptr<sqlite::SqliteStore> store;
    std::vector<Taken> taken{};
    std::uint64_t registry_version = 0;
};

/// What `body` threw.
template <class Body>
StoreError error_of(Body body) {
    try {
        body();
    } catch (const StoreError& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {Reaction::give_up, ""};
}

}  // namespace waybill::test
