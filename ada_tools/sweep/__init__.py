# SPDX-License-Identifier: Apache-2.0
"""Sweeps: one scenario run with many values, on all cores or many machines, and resumed where it was stopped.

from ada_tools import sweep

starts = sweep.load("starts.yaml")                       # a scenario, and what varies in it
result = sweep.run_sweep(starts, "out", progress="auto") # again with the same folder: goes on
result.to_csv("starts.csv")

Worker processes import the main script, so a script calls `run_sweep` below `if __name__ == "__main__":`.
"""

from ada_tools.sweep.drive import run_sweep
from ada_tools.sweep.reader import load
from ada_tools.sweep.results import SweepResult, read_result
from ada_tools.sweep.store import SweepError
from ada_tools.sweep.sweep import Sweep

__all__ = ["Sweep", "SweepError", "SweepResult", "load", "read_result", "run_sweep"]
