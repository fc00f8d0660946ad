#pragma once

#include <string>

#include "waybill/message.hpp"

/// Who the current work is for. A service learns tenant and user once, at its edge; passing them by
/// hand to every append is how they get lost.
namespace waybill {

/// What holds for all the work of a request. An empty field says nothing.
struct Ambient {
    std::string tenant{};
    std::string user{};
    std::string correlation_id{};

    bool operator==(const Ambient&) const = default;
};

/// While it lives, what its thread appends or publishes carries these values, unless the message
/// says otherwise. Scopes nest: an empty field is that of the scope around it.
///
/// Thread safety: of its own thread; other threads do not see it.
/// Lifetime:      on the stack; the innermost ends first.
class Scope {
public:
    explicit Scope(Ambient values);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    /// Its own values over those around it.
    const Ambient& values() const { return values_; }

private:
    Ambient values_;
    const Scope* around_;
};

/// What holds on the calling thread now; empty outside any scope.
const Ambient& ambient();

/// Writes what holds now into the fields `message` leaves empty. Waybill::append does it.
void stamp(Message& message);

}  // namespace waybill
