#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "waybill/time.hpp"

namespace waybill {

/// A small text and its name.
struct Note {
    std::string name{};
    std::string text{};

    bool operator==(const Note&) const = default;
};

/// Small texts that tools keep beside the messages, by name: a secret that was made once, what became
/// of an order. They travel with the store and its backups. Never on the hot path.
///
/// Thread safety: any thread.
/// Errors:        StoreError.
class Notebook {
public:
    virtual ~Notebook() = default;

    virtual std::optional<std::string> note(const std::string& name) = 0;
    /// All whose names begin so, byte by byte, in the order of their names.
    virtual std::vector<Note> notes(const std::string& prefix) = 0;
    /// Replaces what was there; durable when it returns. From `until` on it may be gone.
    virtual void keep_note(const std::string& name, const std::string& text,
                           StoreTime until = store_never) = 0;
    virtual void drop_note(const std::string& name) = 0;

    /// Lets go when it goes, also when its process dies.
    class Hold {
    public:
        Hold() = default;
        virtual ~Hold() = default;
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;
    };
    /// Meanwhile no other process holds this name; waits a while for who does. Null: it still does. A
    /// store that one process has to itself always gives it.
    virtual std::unique_ptr<Hold> hold(const std::string& /*name*/) {
        return std::make_unique<Hold>();
    }
};

}  // namespace waybill
