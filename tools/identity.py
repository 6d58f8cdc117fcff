# SPDX-License-Identifier: Apache-2.0
"""python tools/identity.py [--write]: compare version, maintainers and addresses with packaging/identity.cfg.

Exit code 1 and one line per file that differs. With --write these files are changed.
"""

from __future__ import annotations

import configparser
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# File, pattern whose second group is the value, value. Fields in braces come from identity.cfg.
PLACES = (
    ("ada_dynamics/_version.py", r'(__version__ = ")([^"]*)(")', "{version}"),
    ("experiments/pyproject.toml", r'(^version = ")([^"]*)(")', "{version}"),
    ("experiments/pyproject.toml", r'(^authors = \[{ name = ")([^"]*)(")', "{maintainers}"),
    ("package.xml", r"(<version>)([^<]*)(<)", "{version}"),
    ("package.xml", r'(<maintainer email=")([^<]*)(</maintainer>)', '{email}">{maintainers}'),
    ("CITATION.cff", r"(^version: )(.*)($)", "{version}"),
    ("CITATION.cff", r"(^date-released: )(.*)($)", "{date}"),
    ("CITATION.cff", r"(^  - name: )(.*)($)", "{maintainers}"),
    ("packaging/conda-forge/recipe.yaml", r'(^  version: ")([^"]*)(")', "{version}"),
    ("packaging/debian/control", r"(^Maintainer: )(.*)($)", "{maintainers} <{email}>"),
    ("docs/installing.md", r"(/ada_dynamics-)([0-9.]+)(-py3)", "{version}"),
)


def main(is_written: bool) -> int:
    """Compare the files, or change them."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "packaging/identity.cfg", encoding="utf-8")
    identity, differing = parser["identity"], 0
    for name, pattern, template in PLACES:
        path, value = ROOT / name, template.format(**identity)
        text = path.read_text(encoding="utf-8")
        found = re.search(pattern, text, re.MULTILINE)
        if found is None:
            print(f"identity: {name} has no match for {pattern}")
            differing += 1
        elif found[2] != value and is_written:
            path.write_text(text[: found.start(2)] + value + text[found.end(2) :], encoding="utf-8")
        elif found[2] != value:
            print(f"identity: {name} has {found[2]!r}, packaging/identity.cfg {value!r}")
            differing += 1
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv[1:]))
