"""The rules. Each takes a Tree and yields (file, line, "what is wrong; what to do").

tests/lint/lint_test.py breaks every one of them on purpose: a new rule needs a case there.
"""

import concurrent.futures
import os
import re
import subprocess

import includes
import snippets
import together

LINES_MAX = 400


def _clang_format(tree, files, *arguments):
    return subprocess.run(["clang-format", "--style=file", *arguments, *files], cwd=tree.root,
                          capture_output=True, text=True)


def format_(tree):
    files = tree.cpp()
    workers = os.cpu_count() or 1
    chunks = [files[start::workers] for start in range(workers) if files[start::workers]]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        answers = list(pool.map(
            lambda chunk: _clang_format(tree, chunk, "--dry-run", "--Werror"), chunks))
    seen = set()
    for answer in answers:
        found = re.findall(r"^(.+?):(\d+):\d+: error:", answer.stderr, re.MULTILINE)
        if answer.returncode != 0 and not found:
            raise SystemExit(f"script/lint: clang-format failed: {answer.stderr.strip()}")
        for path, line in found:
            if path not in seen:
                seen.add(path)
                yield path, int(line), "is not formatted; run script/lint --fix"


def fix_format(tree):
    if tree.cpp():
        _clang_format(tree, tree.cpp(), "-i")


# Time, randomness and threads come in through the runtime seam, or the simulation is blind.
_SEAM_FOLDERS = ("src", "include", "tests")
_SEAM_DOORS = ("src/core/runtime/", "tests/support/")
_SEAMS = (
    (r"\b\w*_clock\s*::\s*now\b|\b(?:clock_gettime|gettimeofday)\s*\(", "reads a clock",
     "take the time from the runtime seam"),
    (r"\bstd\s*::\s*random_device\b|\bRAND_bytes\b|\bgetrandom\s*\(", "draws real randomness",
     "take it from the runtime seam, seeded in tests"),
    (r"\bstd\s*::\s*j?thread\b(?!\s*::\s*id\b)|\bstd\s*::\s*async\b|\bpthread_create\b",
     "starts a thread", "use the runtime seam's pool, or tests/support in tests"),
    (r"\bsleep_(?:for|until)\b|\b(?:u|nano)?sleep\s*\(", "sleeps",
     "wait for an event, or move the manual clock"),
)


def seams(tree):
    for path in tree.cpp(*_SEAM_FOLDERS):
        if path.startswith(_SEAM_DOORS):
            continue
        for number, line in enumerate(tree.code_lines(path), 1):
            for pattern, what, advice in _SEAMS:
                if re.search(pattern, line):
                    yield path, number, f"{what} outside the runtime; {advice}"


def size(tree):
    for path in tree.under("src", "include"):
        count = len(tree.lines(path))
        if count > LINES_MAX:
            yield path, LINES_MAX + 1, f"has {count} lines; split it, {LINES_MAX} are enough"


def pragma_once(tree):
    for path in tree.cpp():
        if path.endswith((".hpp", ".h")) and "#pragma once" not in tree.lines(path):
            yield path, 1, "can be included twice; add #pragma once"


def public_headers(tree):
    listing = "include/CMakeLists.txt"
    in_tree = {path.removeprefix("include/") for path in tree.cpp("include")}
    if not in_tree and listing not in tree.files:
        return
    block = re.search(r"set\(WAYBILL_PUBLIC_HEADERS\n(.*?)\)", tree.text(listing) or "", re.DOTALL)
    listed = re.findall(r"^\s*([^\s#]+)", block.group(1), re.MULTILINE) if block else []
    for number, line in enumerate(tree.lines(listing), 1):
        name = line.strip()
        if name in listed and name not in in_tree:
            yield listing, number, f"lists {name}, which does not exist; remove the line"
    for name in sorted(in_tree - set(listed)):
        yield f"include/{name}", 1, f"is a public header that is not listed; add it to {listing}"


def cmake_lists(tree):
    """No globs; and so every source has to be named in the CMakeLists.txt of a folder above it."""
    for path in tree.files:
        if os.path.basename(path) == "CMakeLists.txt" or path.endswith(".cmake"):
            for number, line in enumerate(tree.lines(path), 1):
                if re.search(r"^\s*file\s*\(\s*GLOB", line, re.IGNORECASE):
                    yield path, number, "globs for files; list them"
    for path in tree.cpp("src", "tests", "bench", "examples"):
        if not path.endswith((".cpp", ".cc")):
            continue
        folder, listed = os.path.dirname(path), False
        while folder and not listed:
            lists = tree.text(f"{folder}/CMakeLists.txt") or ""
            name = re.escape(os.path.relpath(path, folder))
            listed = re.search(rf"^[^#\n]*(?<![\w/.-]){name}(?![\w/.-])", lists, re.MULTILINE)
            folder = os.path.dirname(folder)
        if not listed:
            yield path, 1, "is in no CMakeLists.txt, so it is never built; list it"


def conformance(tree):
    suite = "tests/conformance/store/stores.cpp"
    # The header <memory> is not the store of that name.
    text = re.sub(r"#include <\w+>", "", tree.text(suite) or "")
    stores = {}
    for path in tree.cpp("src/store"):
        parts = path.split("/")
        if len(parts) > 3:
            stores.setdefault(parts[2], path)
    for store, path in sorted(stores.items()):
        if not re.search(rf"(?<![A-Za-z0-9]){re.escape(store)}(?![A-Za-z0-9])", text):
            yield path, 1, f"store {store} is not in the conformance suite; add it to {suite}"


# Written so that these lines do not find themselves.
_LEFTOVERS = (
    (r"\b(?:TO" r"DO|FIX" r"ME)\b", "leaves work behind", "do it, or write an issue"),
    (r"(?<![\w.~}$)*-])/(?:wo" r"rk|ro" r"ot|ho" r"me|Us" r"ers)/\w", "names a path of one machine",
     "use a relative path"),
)


def leftovers(tree):
    for path in tree.files:
        if (tree.text(path) or "") == "":
            continue
        for number, line in enumerate(tree.lines(path), 1):
            for pattern, what, advice in _LEFTOVERS:
                if re.search(pattern, line):
                    yield path, number, f"{what}; {advice}"


ALL = {
    "format": format_,
    "includes": includes.check,
    "conformance": conformance,
    "snippets": snippets.check,
    "seams": seams,
    "size": size,
    "pragma-once": pragma_once,
    "public-headers": public_headers,
    "cmake-lists": cmake_lists,
    "together": together.check,
    "leftovers": leftovers,
}
FIXES = {"snippets": snippets.fix, "format": fix_format}
