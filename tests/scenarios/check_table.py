"""Holds README.md's tables against the tests that exist.

Fails when a row names a test that ctest does not know, when an id of the specification is missing or has
two rows, when a row says nothing, and when a test of this folder is in no row.

    check_table.py --table README.md --ctest ctest --build DIR [--left-out PREFIX]...
"""

import argparse
import json
import re
import subprocess
import sys

IDS = ([f"T{n}" for n in range(1, 84)]
       + [f"W-IN{n}" for n in range(1, 14)] + [f"W-ON{n}" for n in range(1, 13)]
       + [f"W-VU{n}" for n in range(1, 9)] + [f"W-RA{n}" for n in range(1, 13)]
       + [f"W-RH{n}" for n in range(1, 16)]
       + [f"WH{n}" for n in range(1, 13)] + ["DD14", "TN1", "TN2", "QM1", "QM2"])
OURS = ("Accepting.", "Dispatching.", "Keeping.", "Ordering.", "Results.", "Surviving.", "Versions.",
        "WebhooksOut.", "DelivererTest.")

_NAME = re.compile(r"`([A-Za-z]\w*(?:\.\w+)+)`")


def plain(test):
    """Stores/Keeping.Name/memory -> Keeping.Name: one name for a test on every store."""
    test = re.sub(r"\s+# GetParam\(\).*", "", test)
    return re.sub(r"/\w+$", "", re.sub(r"^\w+/", "", test))


def rows(text):
    """(line number, id, names of tests, the last cell) of every row of every table."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[0] == "id" or set(cells[0]) == {"-"}:
            continue
        yield number, cells[0], _NAME.findall(cells[2]), cells[2]


def problems(text, tests, left_out=(), ours=OURS, ids=None):
    ids = IDS if ids is None else ids
    known = {plain(test) for test in tests}
    seen, named = {}, set()
    for number, row_id, names, cell in rows(text):
        if row_id and row_id in seen:
            yield f"line {number}: {row_id} has a row already, in line {seen[row_id]}; merge them"
        if row_id and row_id not in ids:
            yield f"line {number}: {row_id} is not in the specification"
        seen[row_id] = number
        named.update(names)
        if not names and not cell.startswith(("not yet: ", "does not apply: ")):
            yield f"line {number}: {row_id} names no test; say 'not yet: why' or 'does not apply: why'"
        for name in names:
            if name not in known and not name.startswith(tuple(left_out)):
                yield f"line {number}: {row_id} names {name}, which does not exist"
    for row_id in ids:
        if row_id not in seen:
            yield f"{row_id} has no row; add one"
    for name in sorted(known):
        if name.startswith(ours) and name not in named:
            yield f"{name} is in no row; say which scenario it plays"


def tests_of(ctest, build):
    answer = subprocess.run([ctest, "--show-only=json-v1"], cwd=build, check=True,
                            capture_output=True, text=True)
    tests = json.loads(answer.stdout)["tests"]
    names = [test["name"] for test in tests]
    for test in tests:
        # One ctest test for all of a program: ask the program.
        if test["name"].endswith(".ALL") and test.get("command"):
            names += listed(subprocess.run([test["command"][0], "--gtest_list_tests"], check=True,
                                           capture_output=True, text=True).stdout)
    return names


def listed(text):
    """Of --gtest_list_tests: a suite, and its tests indented below it."""
    suite = ""
    for line in text.splitlines():
        if not line.startswith(" "):
            suite = line.split("#")[0].strip()
        elif suite.endswith("."):
            yield suite + line.split("#")[0].strip()


def main():
    parser = argparse.ArgumentParser(description="Checks the table of scenarios.")
    parser.add_argument("--table", required=True)
    parser.add_argument("--ctest", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--left-out", action="append", default=[], metavar="PREFIX",
                        help="tests that this build does not have")
    arguments = parser.parse_args()
    tests = tests_of(arguments.ctest, arguments.build)
    unbuilt = [test for test in tests if test.endswith("_NOT_BUILT")]
    if unbuilt:
        print(f"not built: {', '.join(unbuilt)}; build everything first", file=sys.stderr)
        return 1
    with open(arguments.table, encoding="utf-8") as file:
        found = list(problems(file.read(), tests, arguments.left_out))
    for problem in found:
        print(f"{arguments.table}: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
