#pragma once

namespace waybill::runtime {

/// Waits for SIGTERM or SIGINT. While one exists these signals end no process; a second signal of
/// the same kind after the first was seen does what it did before.
///
/// Thread safety: one in a process at a time; ConfigError for a second one.
/// Lifetime:      the destructor puts the former handlers back.
class StopSignals {
public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// Until a signal came, or interrupt() was called.
    void wait();
    /// From any thread.
    void interrupt();

private:
    struct Former;
    Former* former_;
};

}  // namespace waybill::runtime
