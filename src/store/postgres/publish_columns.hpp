#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rows.hpp"
#include "waybill/message.hpp"
#include "waybill/postgres/publish.hpp"

namespace waybill::postgres {

/// Throws ConfigError unless it is a schema's name.
const std::string& checked_schema(const std::string& schema);
/// Stamped with what holds on this thread, and sound but for what only its box knows. Throws InvalidMessage.
std::vector<Message> checked(std::span<const Message> messages);

/// The columns of messages, as publish_many takes them: in the binary format, or as text.
template <class TextColumn, class BlobColumn, class UuidColumn, class LongColumn>
struct PublishColumns {
    explicit PublishColumns(std::span<const Message> messages) {
        for (const Message& message : messages) add(message);
    }

    /// Calls `visit` with each, in their order.
    template <class Visit>
    auto visit(Visit visit) const {
        return visit(types, bodies, boxes, tenants, users, lanes, dedup_keys, collapse_keys,
                     correlation_ids, content_types, sources, attributes, ids, occurred_at,
                     not_before);
    }

private:
    void add(const Message& m) {
        types.add(m.type);
        bodies.add(m.body);
        boxes.add(m.box);
        tenants.add(m.tenant);
        users.add(m.user);
        lanes.add(m.lane);
        dedup_keys.add(m.dedup_key);
        collapse_keys.add(m.collapse_key);
        correlation_ids.add(m.correlation_id);
        content_types.add(m.content_type);
        sources.add(m.source);
        attributes.add(attributes_literal(m.attributes));
        ids.add(m.id.is_nil() ? std::nullopt : std::optional{m.id});
        occurred_at.add(m.occurred_at);
        not_before.add(m.not_before);
    }

    TextColumn types{};
    BlobColumn bodies{};
    TextColumn boxes{};
    TextColumn tenants{};
    TextColumn users{};
    TextColumn lanes{};
    TextColumn dedup_keys{};
    TextColumn collapse_keys{};
    TextColumn correlation_ids{};
    TextColumn content_types{};
    TextColumn sources{};
    TextColumn attributes{};
    UuidColumn ids{};
    LongColumn occurred_at{};
    LongColumn not_before{};
};

}  // namespace waybill::postgres
