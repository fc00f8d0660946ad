#pragma once

#include "board.hpp"

namespace demo {

/// Draws the board in place on a terminal, ten times a second.
void draw(const Board::View& view);
/// For pipes and logs: what is new since `lines_told`, and the counts in one line.
void print_plain(const Board::View& view, std::uint64_t lines_told);
void print_summary(const Board::View& view, bool in_colour);

/// The terminal as it was, with the cursor.
void enter_screen();
void leave_screen();

}  // namespace demo
