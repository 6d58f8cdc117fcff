# SPDX-License-Identifier: Apache-2.0
"""Experiments beyond a single simulation, one module each, imported on demand."""

from __future__ import annotations

# Modules with `@experiment` and `@measure` functions for scenarios.
MODULES: tuple[str, ...] = (
    "ada_experiments.arm_in_null_space",
    "ada_experiments.awa_pipeline",
    "ada_experiments.awa_simulators",
    "ada_experiments.balance_limits",
    "ada_experiments.engines",
    "ada_experiments.hand_on_wall",
    "ada_experiments.hybrid_cost",
    "ada_experiments.hybrid_motion",
    "ada_experiments.joint_tables",
    "ada_experiments.late_loop",
    "ada_experiments.literal_closed_chain",
    "ada_experiments.motion_measures",
    "ada_experiments.open_and_closed",
    "ada_experiments.operation_counts",
    "ada_experiments.printed_equations",
    "ada_experiments.push_sweep",
    "ada_experiments.pushed_device",
    "ada_experiments.pushed_humanoid",
    "ada_experiments.pa10_inverse",
    "ada_experiments.pa10_compliance",
    "ada_experiments.space_robots",
    "ada_experiments.singular_jumps",
    "ada_experiments.singularity_consistent",
    "ada_experiments.two_arm_bar",
)
