"""Code shown in the docs is cut from code that is compiled.

    <!-- snippet: examples/first_inbox.cpp#handler -->
    ```cpp
    (the lines between `// [handler]` and `// [/handler]` in that file, dedented)
    ```
"""

import os
import re
import textwrap

_SNIPPET = re.compile(r"^\s*<!--\s*snippet:\s*(\S+?)#(\S+?)\s*-->\s*$")
_LOOSE = re.compile(r"^\s*<!--\s*snippet\b")
_FENCE = re.compile(r"^(`{3,}|~{3,})")


def _mark(name):
    return re.compile(rf"^\s*(?://|#|--)\s*\[{re.escape(name)}\]\s*$")


def _cut(tree, source, name):
    """(lines, None), or (None, what is wrong)."""
    if not os.path.isfile(tree.full(source)):
        return None, f"snippet source {source} does not exist; correct the path"
    lines = tree.lines(source)
    starts = [i for i, line in enumerate(lines) if _mark(name).match(line)]
    ends = [i for i, line in enumerate(lines) if _mark("/" + name).match(line)]
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        return None, f"{source} has no single // [{name}] ... // [/{name}]; mark the snippet there"
    # Marks of snippets inside this one are not part of the text.
    inside = [line for line in lines[starts[0] + 1:ends[0]]
              if not re.match(r"^\s*(?://|#|--)\s*\[/?[\w.-]+\]\s*$", line)]
    return textwrap.dedent("\n".join(inside)).strip("\n").split("\n"), None


def _walk(tree, path):
    """Yields (line of the comment, first, last line of the code, wanted lines, what is wrong)."""
    lines = tree.lines(path)
    for index, line in enumerate(lines):
        match = _SNIPPET.match(line)
        if not match:
            if _LOOSE.match(line):
                yield index, 0, 0, None, "unreadable snippet comment; write <!-- snippet: file#name -->"
            continue
        fence = index + 1
        while fence < len(lines) and not lines[fence].strip():
            fence += 1
        opening = _FENCE.match(lines[fence]) if fence < len(lines) else None
        if not opening:
            yield index, 0, 0, None, "no code fence follows the snippet comment; add one"
            continue
        last = fence + 1
        while last < len(lines) and lines[last].strip() != opening.group(1):
            last += 1
        wanted, wrong = _cut(tree, *match.groups())
        yield index, fence + 1, last, wanted, wrong


def check(tree):
    for path in tree.files:
        if not path.endswith(".md"):
            continue
        lines = tree.lines(path)
        for index, first, last, wanted, wrong in _walk(tree, path):
            if wrong:
                yield path, index + 1, wrong
            elif lines[first:last] != wanted:
                yield path, index + 1, "snippet differs from its source; run script/lint --fix"


def fix(tree):
    for path in tree.files:
        if not path.endswith(".md"):
            continue
        lines = tree.lines(path)
        changes = [(first, last, wanted) for _, first, last, wanted, wrong in _walk(tree, path)
                   if not wrong and lines[first:last] != wanted]
        for first, last, wanted in reversed(changes):
            lines[first:last] = wanted
        if changes:
            with open(tree.full(path), "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
