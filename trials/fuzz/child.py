# SPDX-License-Identifier: Apache-2.0
"""The process of atheris: python -m trials.fuzz.child TARGET SCRATCH [flags of libFuzzer].

Modules are imported after atheris, which adds the counters of branches during the import.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

from trials.fuzz import targets
from trials.fuzz.target import Trial


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    name, scratch, *flags = sys.argv[1:]
    with atheris.instrument_imports(include=list(targets.rooms(name)), enable_loader_override=False):
        target = targets.find(name)
    atheris.Setup([sys.argv[0], *flags], Trial(target, Path(scratch)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
