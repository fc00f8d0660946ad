#pragma once

#include <cstdio>
#include <string>

#include "waybill/observer.hpp"

namespace waybill {

/// What an event means to the people who run the application, in one line. Empty: nothing they need
/// to know.
std::string describe(const Event& event);

/// Says on standard error what somebody should know: failed attempts, dead letters, parked messages,
/// halted lanes, a store that does not answer, careful running after crashes.
///
///     waybill::Console console;
///     app.observe(console);
///
/// Thread safety: any thread.
/// Lifetime:      outlives the applications it observes; so does `out`.
class Console final : public Observer {
public:
    explicit Console(std::FILE* out = stderr) : out_(out) {}

    void on_event(const Event& event) noexcept override;

private:
    std::FILE* out_;
};

}  // namespace waybill
