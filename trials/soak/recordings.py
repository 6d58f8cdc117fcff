# SPDX-License-Identifier: Apache-2.0
"""The recorded motion of a slice, read again: is it whole, and are its energy and loop what they were?"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.log import Log
from trials.soak.steps import GRAVITY, rhombus

RATE = 250.0  # [Hz] of rows of the simulation
ENERGY = -np.sqrt(2.0) * GRAVITY  # [J] of the four-bar where it was let go before the first slice, at 135 degrees
BOUNDS = {"energy [J]": 1e-8, "gap [m]": 1e-14}  # of the four-bar, for a day


def read_simulation(path: Path) -> dict[str, Any]:
    """Rows expected and found, figures of the motion, its last state, and problems; rows may be lost, if counted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of a recording that was cut short
            log = Log.load(path)
    except (AdaError, UserWarning) as problem:
        return {"rows": (0, 0), "figures": {}, "last": None, "problems": [f"{path.name}: {problem}"]}
    rows, lost = (round(log.t[-1] * RATE) + 1, len(log)), log.info.get("lost", 0)
    energy, gap = rhombus(log.q, log.v)
    figures = {"energy [J]": float(np.abs(energy - ENERGY).max()), "gap [m]": float(gap.max())}
    broken = [one for one, bound in BOUNDS.items() if not figures[one] <= bound]
    problems = [f"four-bar: {one} is {figures[one]:.2g}, above {BOUNDS[one]:g}" for one in broken]
    if rows[0] != rows[1] + lost:
        problems.append(f"{path.name}: {rows[1]} rows and {lost} that it says are lost, instead of {rows[0]}")
    return {"rows": rows, "figures": figures, "last": (log.t[-1], log.q[-1], log.v[-1]), "problems": problems}
