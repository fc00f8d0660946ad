"""How Doxygen reads a public header of ours.

The paragraph above a header's namespace says why the header exists: it is about the file, but Doxygen
would file it under the namespace, once per header. So it becomes the text of the file.
"""

import re
import sys


def about_the_file(text):
    match = re.search(r"((?:^///.*\n)+)(?=namespace |#include )", text, re.MULTILINE)
    if not match:
        return "/** @file */\n" + text
    about = match.group(1)
    # As many lines as before, so that warnings name the right one.
    rest = text[:match.start()] + "\n" * about.count("\n") + text[match.end():]
    paragraph = re.sub(r"^/// ?", "", about, flags=re.MULTILINE)
    return rest + "\n/** @file\n" + paragraph + "*/\n"


path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    sys.stdout.write(about_the_file(file.read()))
