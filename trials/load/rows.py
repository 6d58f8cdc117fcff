# SPDX-License-Identifier: Apache-2.0
"""Records a PA-10 that swings: `python -m trials.load.rows FILE COUNT`; without COUNT it plots the recording."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import ada_dynamics as ada
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.recorder import McapRecorder

AT_ONCE = 1000
STEP = 1e-3  # [s]


def record(path: Path, count: int) -> None:
    """Hand over rows, some at once."""
    model = ada.load("pa10")
    with McapRecorder(path, model) as recorder:
        for first in range(0, count, AT_ONCE):
            t = np.asarray((first + np.arange(min(AT_ONCE, count - first))) * STEP, dtype=np.float64)
            swing = np.outer(np.sin(t), np.ones(model.nv))
            recorder.append(t, swing, np.asarray(np.gradient(swing, STEP, axis=0), dtype=np.float64), -swing, swing)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        record(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        Log.load(sys.argv[1]).plot(Path(sys.argv[1]).with_suffix(".png"))
