"""Prints the JSON results of Google Benchmark programs in a folder as one table."""

import json
import pathlib
import sys

STANDARD = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
    "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label",
    "aggregate_name", "aggregate_unit", "items_per_second", "bytes_per_second", "error_occurred",
    "error_message",
}


def short(number):
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            return f"{number / limit:.2f}{suffix}"
    return f"{number:.4g}"


def row(result):
    if result.get("error_occurred"):
        return [result["name"], "failed", "", "", result.get("error_message", "")]
    notes = [f"{key}={short(value)}" for key, value in result.items()
             if key not in STANDARD and isinstance(value, (int, float))]
    if result.get("label"):
        notes.append(result["label"])
    items = result.get("items_per_second")
    return [result["name"], f"{result['real_time']:.4g} {result['time_unit']}",
            f"{result['cpu_time']:.4g} {result['time_unit']}",
            short(items) if items is not None else "", " ".join(notes)]


def main(folder):
    rows, failed = [], False
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        text = path.read_text()
        for result in json.loads(text)["benchmarks"] if text.strip() else []:
            failed = failed or bool(result.get("error_occurred"))
            rows.append(row(result))
    if not rows:
        print("bench: nothing ran; no benchmark matches the filter, or none is listed in "
              "bench/CMakeLists.txt", file=sys.stderr)
        return 1
    rows.insert(0, ["benchmark", "time", "cpu", "items/s", "notes"])
    widths = [max(len(line[column]) for line in rows) for column in range(5)]
    for index, line in enumerate(rows):
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:4], widths[1:4])]
        print("  ".join(cells + [line[4]]).rstrip())
        if index == 0:
            print("-" * (sum(widths[:4]) + 6))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
