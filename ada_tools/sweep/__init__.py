# SPDX-License-Identifier: Apache-2.0
"""Sweeps: one scenario run for many parameter values, on all cores or many machines, resumable."""

from ada_tools.sweep.results import SweepError, SweepResult, read_result
from ada_tools.sweep.running import run_sweep
from ada_tools.sweep.sweep import Sweep, load

__all__ = ["Sweep", "SweepError", "SweepResult", "load", "read_result", "run_sweep"]
