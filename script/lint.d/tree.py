"""The files under inspection: what git tracks and what it would track."""

import functools
import os
import re
import subprocess

CPP = (".cpp", ".hpp", ".h", ".cc")

_TOKENS = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE)


class Tree:
    def __init__(self, root):
        self.root = os.path.realpath(root)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True, text=True).stdout
        self.files = sorted({path for path in listed.split("\0")
                             if path and os.path.isfile(self.full(path))})

    def full(self, path):
        return os.path.join(self.root, path)

    def under(self, *folders, suffixes=None):
        """Files inside one of the folders, with one of the suffixes."""
        return [path for path in self.files
                if path.startswith(tuple(folder.rstrip("/") + "/" for folder in folders))
                and (suffixes is None or path.endswith(suffixes))]

    def cpp(self, *folders):
        if folders:
            return self.under(*folders, suffixes=CPP)
        return [path for path in self.files if path.endswith(CPP)]

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        """The file's text, or None when it is not a text file."""
        try:
            with open(self.full(path), encoding="utf-8") as file:
                return file.read()
        except (UnicodeDecodeError, OSError):
            return None

    def lines(self, path):
        return (self.text(path) or "").splitlines()

    @functools.lru_cache(maxsize=None)
    def code_lines(self, path):
        """The file's lines with comments and literals blanked out; line numbers are kept."""
        def blank(match):
            return re.sub(r"[^\n]", " ", match.group(0))
        return _TOKENS.sub(blank, self.text(path) or "").splitlines()

    def is_allowed(self, path, line, rule):
        lines = self.lines(path)
        return 0 < line <= len(lines) and re.search(
            rf"lint: allow\({re.escape(rule)}\) \S", lines[line - 1]) is not None
