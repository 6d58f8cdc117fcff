# SPDX-License-Identifier: Apache-2.0
"""libFuzzer, by atheris, in a process of its own, on one target: from where it was left, for some more inputs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trials.fuzz.corpus import CORPUS, CRASHES, keep, kept
from trials.fuzz.counts import Counts
from trials.fuzz.target import Target

HANGS = 600  # [s] of wall time, in which other programs may have the processor; `Trial` looks at that of the processor
MEMORY = 2048  # [MB] of a target's process, at most
_FOUND, _LOG = "found", "log"
_QUICK = Path("/dev/shm")  # a file that is written anew for each input costs milliseconds on a disk


def go_on(target: Target, folder: Path, *, runs: int, seconds: int, seed: int) -> int:
    """Try inputs until there were so many in all; what breaks something is kept for good, and its count begins anew.

    Args:
        target: what they are tried on.
        folder: of the target, for its counts and what was found.
        runs: in all calls together.
        seconds: most in this call; 0: no bound.
        seed: of the mutations.

    Returns:
        How many inputs broke something.
    """
    counts = Counts.read(folder)
    if counts.runs >= runs:
        return 0
    inputs = folder / _FOUND
    inputs.mkdir(parents=True, exist_ok=True)
    for one in {*target.seeds(), *kept(CORPUS, target.name), *kept(CRASHES, target.name)}:
        (inputs / hashlib.sha1(one, usedforsecurity=False).hexdigest()).write_bytes(one)
    flags: dict[str, object] = {
        **{"runs": runs - counts.runs, "max_total_time": seconds, "seed": seed + counts.runs, "reload": 0},
        **{"max_len": target.longest, "timeout": HANGS, "rss_limit_mb": MEMORY, "artifact_prefix": f"{folder}/"},
    }
    if target.words:
        flags["dict"] = folder / "words"
        text = "".join(f'"{_escaped(word)}"\n' for word in target.words)
        (folder / "words").write_text(text, encoding="utf-8")
    with scratch(target) as place:
        command = [sys.executable, "-m", "trials.fuzz.child", target.name, str(folder), str(place)]
        command += [*(f"-{key}={value}" for key, value in flags.items()), str(inputs)]
        with (folder / _LOG).open("wb") as log:
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    return _crashes(target, folder, code)


def _crashes(target: Target, folder: Path, code: int) -> int:
    files = [one for kind in ("crash", "timeout", "oom") for one in folder.glob(f"{kind}-*")]
    if files:
        keep(CRASHES, target.name, [*kept(CRASHES, target.name), *(one.read_bytes() for one in files)])
        for one in files:
            one.unlink()
    said = (folder / _LOG).read_text(encoding="utf-8", errors="replace")[-4000:]
    if code or "DONE" not in said:
        Counts.forget(folder)
        print(said, file=sys.stderr, flush=True)
        return max(1, len(files))
    return 0


def found(folder: Path) -> list[bytes]:
    """Inputs that took a new branch when they were tried."""
    inputs = folder / _FOUND
    return [one.read_bytes() for one in inputs.iterdir()] if inputs.exists() else []


@contextmanager
def scratch(target: Target) -> Iterator[Path]:
    """A folder for the file that a target reads, in memory where there is such a place."""
    place = _QUICK if _QUICK.is_dir() else None
    with tempfile.TemporaryDirectory(prefix=f"fuzz_{target.name}_", dir=place) as folder:
        yield Path(folder)


def _escaped(word: str) -> str:
    return "".join(f"\\x{one:02x}" for one in word.encode())
