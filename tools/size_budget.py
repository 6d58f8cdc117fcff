# SPDX-License-Identifier: Apache-2.0
"""python tools/size_budget.py [--table]: lines of tracked Python files per folder, against tools/size_budget.toml.

Exit code 1 and one line per folder that exceeds its budget. With --table all folders are printed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:  # comes with pytest
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Compare; 1 where a folder is over its budget."""
    budgets = tomllib.loads((ROOT / "tools/size_budget.toml").read_text(encoding="utf-8"))["lines"]
    sizes = lines_per_file()
    over = 0
    for folder, budget in budgets.items():
        lines = sum(count for name, count in sizes.items() if belongs(name, folder))
        if lines > budget:
            over += 1
            print(f"size budget: {folder} has {lines} lines, {lines - budget} more than its budget of {budget}")
        elif "--table" in sys.argv:
            print(f"{folder:<32}{lines:>8} of {budget:>7}")
    return int(over > 0)


def lines_per_file() -> dict[str, int]:
    """Lines of each tracked Python file, or of each one below the root where there is no repository."""
    found = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True)
    names = found.stdout.split("\n") if found.returncode == 0 else map(str, ROOT.glob("[a-z]*/**/*.py"))
    paths = [ROOT / name for name in names if name]
    return {str(path.relative_to(ROOT)): path.read_bytes().count(b"\n") for path in paths if path.is_file()}


def belongs(name: str, folder: str) -> bool:
    """Return True if a file counts for a folder; FOLDER/*.py are the files directly in it."""
    if folder.endswith("/*.py"):
        return str(Path(name).parent) == folder[: -len("/*.py")]
    return name.startswith(f"{folder}/")


if __name__ == "__main__":
    sys.exit(main())
