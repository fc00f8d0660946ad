#pragma once

#include <functional>
#include <map>
#include <string>

#include <sys/types.h>

#include "crash/books.hpp"
#include "crash/trap_vfs.hpp"
#include "support/temporary_folder.hpp"

namespace waybill::crash {

/// How one life of the child begins and ends.
struct Life {
    int round = 0;
    /// Messages per producer; 0 only drains.
    int messages = 40;
    /// The store's clock is this much ahead.
    int minutes_later = 0;
    Trap trap{};
    /// Killed after it has told this many lines; 0: it dies by its trap, or of its own accord.
    int lines_max = 0;
    /// Messages that kill the child when it handles them.
    int bombs = 0;
    /// The child acknowledges what the disk has not confirmed.
    bool relaxed = false;
};

struct End {
    bool killed = false;
    /// Of its own accord: the exit code.
    int code = -1;
    int lines = 0;
};

/// Starts children on one file, hears what they tell, and kills them.
///
/// WAYBILL_CRASH_FOLDER is where the file is, instead of a folder of its own; WAYBILL_CRASH_CUT a command
/// that is run with the child's process id instead of killing it: script/torture cuts the power of a disk.
class Parent {
public:
    Parent();
    /// Lives until it is killed, trapped, or has nothing left to do. Everything it told is in the books.
    End live(const Life& life);
    /// The file, as the next process finds it: sound, and nothing acknowledged is missing.
    void inspect();
    /// Lets a last child finish everything, and closes the books.
    void finish(int round, int minutes_later);

    Books& books() { return books_; }
    const std::string& file() const { return file_; }
    /// All that was broken, one per line.
    std::string verdict() const;

private:
    static void end(pid_t child);
    void look(const std::function<void(Catalogue&)>& at);
    Books::Rows rows() const;

    test::TemporaryFolder folder_{};
    std::string file_{};
    Books books_{};
    std::string trouble_{};
};

}  // namespace waybill::crash
