#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<Note>& notes) {
    std::vector<std::string> all;
    for (const Note& note : notes) all.push_back(note.name);
    return all;
}

TEST_P(StoreConformance, ANoteIsReadAsItWasWrittenLast) {
    notebook().keep_note("secret", "first");
    notebook().keep_note("secret", "{\"é\": '\\'}\n");

    EXPECT_EQ(notebook().note("secret"), "{\"é\": '\\'}\n");
    EXPECT_EQ(notebook().note("other"), std::nullopt);
    notebook().drop_note("secret");
    notebook().drop_note("secret");
    EXPECT_EQ(notebook().note("secret"), std::nullopt);
}

TEST_P(StoreConformance, NotesThatBeginAlikeAreListedByName) {
    for (const char* name :
         {"sub/b", "sub/a", "sub", "sub/B", "sub0", "su", "subé/x", "sub/é", "t"}) {
        notebook().keep_note(name, "text of " + std::string{name});
    }

    const std::vector<Note> found = notebook().notes("sub/");

    EXPECT_THAT(names(found), ElementsAre("sub/B", "sub/a", "sub/b", "sub/é"));
    EXPECT_EQ(found[1], (Note{"sub/a", "text of sub/a"}));
    EXPECT_THAT(names(notebook().notes("sub")),
                ElementsAre("sub", "sub/B", "sub/a", "sub/b", "sub/é", "sub0", "subé/x"));
    EXPECT_EQ(notebook().notes("").size(), 9U);
    EXPECT_THAT(notebook().notes("subject"), IsEmpty());
}

TEST_P(StoreConformance, APrefixWithWildcardsOfItsDatabaseIsTakenLiterally) {
    for (const char* name : {"a%b/1", "axb/2", "a_b/3", "a\\b/4", "a*b/5", "a?b/6", "a[x]b/7"}) {
        notebook().keep_note(name, "");
    }

    EXPECT_THAT(names(notebook().notes("a%b")), ElementsAre("a%b/1"));
    EXPECT_THAT(names(notebook().notes("a_b")), ElementsAre("a_b/3"));
    EXPECT_THAT(names(notebook().notes("a\\b")), ElementsAre("a\\b/4"));
    EXPECT_THAT(names(notebook().notes("a*b")), ElementsAre("a*b/5"));
    EXPECT_THAT(names(notebook().notes("a?b")), ElementsAre("a?b/6"));
    EXPECT_THAT(names(notebook().notes("a[x]")), ElementsAre("a[x]b/7"));
}

TEST_P(StoreConformance, ANoteThatHasEndedIsNeitherReadNorListed) {
    notebook().keep_note("sub/a", "short", now() + 1min);
    notebook().keep_note("sub/b", "long", now() + 1h);
    notebook().keep_note("sub/c", "for ever");
    EXPECT_EQ(notebook().notes("sub/").size(), 3U);

    advance(1min);

    EXPECT_THAT(names(notebook().notes("sub/")), ElementsAre("sub/b", "sub/c"));
    EXPECT_EQ(notebook().note("sub/a"), std::nullopt);
}

TEST_P(StoreConformance, WhatOneConnectionNotesAllOthersRead) {
    const Connection other = connect();
    notebook().keep_note("sub/a", "text");

    EXPECT_EQ(other.notebook->note("sub/a"), "text");
    EXPECT_EQ(other.notebook->notes("sub/"), (std::vector<Note>{{"sub/a", "text"}}));
}

}  // namespace
}  // namespace waybill::test
