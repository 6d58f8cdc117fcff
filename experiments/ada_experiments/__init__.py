# SPDX-License-Identifier: Apache-2.0
"""Experiments beyond a single simulation, one module each, imported on demand."""

from __future__ import annotations

# Modules with `@experiment` and `@measure` functions for scenarios.
MODULES: tuple[str, ...] = (
    "ada_experiments.algorithm_table",
    "ada_experiments.arm_in_null_space",
    "ada_experiments.awa_own_robot",
    "ada_experiments.awa_pipeline",
    "ada_experiments.awa_simulators",
    "ada_experiments.chain_measures",
    "ada_experiments.crb_note",
    "ada_experiments.engines",
    "ada_experiments.euler_angles",
    "ada_experiments.feet_that_may_lift",
    "ada_experiments.hand_on_wall",
    "ada_experiments.hybrid_cost",
    "ada_experiments.hybrid_motion",
    "ada_experiments.joint_tables",
    "ada_experiments.late_loop",
    "ada_experiments.literal_closed_chain",
    "ada_experiments.open_and_closed",
    "ada_experiments.printed_equations",
    "ada_experiments.push_measures",
    "ada_experiments.push_sweep",
    "ada_experiments.pushed_device",
    "ada_experiments.pushes_without_control",
    "ada_experiments.pa10_compliance",
    "ada_experiments.pa10_inverse",
    "ada_experiments.pa10_paths",
    "ada_experiments.pa10_trajectory",
    "ada_experiments.space_robots",
    "ada_experiments.singular_jumps",
    "ada_experiments.spherical_joints",
    "ada_experiments.two_arm_bar",
    "ada_experiments.upright_pose",
    "ada_experiments.virtual_chains",
)
