# SPDX-License-Identifier: Apache-2.0
"""Sweeps: one scenario run for many parameter values, on all cores or many machines, resumable."""

from ada_tools.sweep.dispatch import run_sweep
from ada_tools.sweep.reader import load
from ada_tools.sweep.results import SweepResult, read_result
from ada_tools.sweep.store import SweepError
from ada_tools.sweep.sweep import Sweep

__all__ = ["Sweep", "SweepError", "SweepResult", "load", "read_result", "run_sweep"]
