"""Files that are compiled together under the sanitizers: the names in their unnamed namespaces differ."""

import os
import re

_TARGET = re.compile(
    r"^[ ]*(?:add_executable|waybill_(?:room|test|test_library))\(([^)]*)\)", re.MULTILINE)
_TYPE = re.compile(r"(?:struct|class|enum|enum class) (\w+)")
_ALIAS = re.compile(r"using (\w+) = ([^;]*)")
_FUNCTION = re.compile(r"[\w:<>,&*\[\] ]+[ &*](\w+)\(([^()]*)")
_VARIABLE = re.compile(r"[\w:<>,&* ]+[ &*](\w+)(?:\[\w*\])?\s*(?:=|{|;)")


def _sources(tree):
    """The files of each target with several."""
    for listing in tree.files:
        if os.path.basename(listing) != "CMakeLists.txt":
            continue
        text = re.sub(r"#.*", "", tree.text(listing) or "")
        for target in _TARGET.finditer(text):
            named = re.findall(r"[\w./]+\.cpp", target.group(1))
            paths = [os.path.join(os.path.dirname(listing), name) for name in named]
            yield [path for path in paths if path in tree.files]


def _what(code):
    """A declaration's name, and what another must not be to be beside it; or None."""
    if found := _TYPE.match(code):
        return None if re.match(r"[^{]*;", code) else (found[1], "")
    if found := _ALIAS.match(code):
        return found[1], found[2]
    if found := _FUNCTION.match(code):
        types = [re.sub(r"\s*=.*|\s*\b\w+\s*$", "", one) for one in found[2].split(",")]
        return found[1], f"({','.join(types)})"
    found = _VARIABLE.match(code)
    return (found[1], "") if found else None


def _unnamed(tree, path):
    """(namespace, name, what, line) of what stands in the file's unnamed namespaces."""
    outer, inside = "", False
    lines = [re.sub(r"^\[\[\w+\]\] ", "", line) for line in tree.code_lines(path)]
    for number, code in enumerate(lines, 1):
        if found := re.match(r"namespace ([\w:]+) {", code):
            outer = found[1]
        elif code.startswith("namespace {"):
            inside = True
        elif tree.lines(path)[number - 1] == "}  // namespace":
            inside = False
        elif inside and re.match(r"(?!TEST|INSTANTIATE|RC_|template|namespace|using \w+::|\w+:)\w", code):
            whole = " ".join(line.strip() for line in lines[number - 1:number + 4])
            if what := _what(whole):
                yield outer, *what, number


def check(tree):
    for paths in _sources(tree):
        seen = {}
        for path in paths:
            for outer, name, what, line in _unnamed(tree, path):
                for other, kind in seen.get((outer, name), []):
                    are_overloads = what.startswith("(") and kind.startswith("(") and what != kind
                    is_same_alias = what == kind and what != "" and not what.startswith("(")
                    if other != path and not are_overloads and not is_same_alias:
                        yield path, line, f"{name} is in {other} too, which is compiled " \
                            "together with it under a sanitizer; give it another name"
                        break
                seen.setdefault((outer, name), []).append((path, what))
