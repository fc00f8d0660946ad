#pragma once

#include <string>

#include "waybill/time.hpp"

namespace waybill::sqlite {

/// Hears when somebody writes to a file's journal, and costs nothing while nobody does. A write is not a
/// commit yet: whoever hears of it looks a little later, and perhaps again.
///
/// Thread safety: `poke` from any thread, the rest from one.
class JournalWatch {
public:
    explicit JournalWatch(const std::string& database);
    ~JournalWatch();
    JournalWatch(const JournalWatch&) = delete;
    JournalWatch& operator=(const JournalWatch&) = delete;

    /// The system has no watch to spare: nothing will be heard.
    bool is_deaf() const { return watch_ < 0; }
    /// Until somebody has written, or a poke, or the end of time.
    void wait(Duration at_most);
    /// Until a poke or the end of time; what is written meanwhile is heard afterwards.
    void pause(Duration at_most);
    /// Whether somebody has written since the last time this was asked.
    bool was_written();
    void poke();

private:
    void wait_for(bool writes, Duration at_most);

    int watch_ = -1;
    int pokes_ = -1;
};

}  // namespace waybill::sqlite
