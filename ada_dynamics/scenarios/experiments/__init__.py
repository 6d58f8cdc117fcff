# SPDX-License-Identifier: Apache-2.0
"""Experiments that are more than one simulation, one module each; imported when one of them is asked for."""

from __future__ import annotations

# Full names of modules whose `@experiment` and `@measure` functions scenarios can call.
MODULES: tuple[str, ...] = (
    "ada_dynamics.scenarios.experiments.arm_in_null_space",
    "ada_dynamics.scenarios.experiments.awa_pipeline",
    "ada_dynamics.scenarios.experiments.awa_simulators",
    "ada_dynamics.scenarios.experiments.crb_note",
    "ada_dynamics.scenarios.experiments.engines",
    "ada_dynamics.scenarios.experiments.euler_angles",
    "ada_dynamics.scenarios.experiments.feet_that_may_lift",
    "ada_dynamics.scenarios.experiments.hybrid_cost",
    "ada_dynamics.scenarios.experiments.hybrid_motion",
    "ada_dynamics.scenarios.experiments.push_measures",
    "ada_dynamics.scenarios.experiments.push_sweep",
    "ada_dynamics.scenarios.experiments.pushes_without_control",
    "ada_dynamics.scenarios.experiments.pa10_compliance",
    "ada_dynamics.scenarios.experiments.pa10_inverse",
    "ada_dynamics.scenarios.experiments.pa10_paths",
    "ada_dynamics.scenarios.experiments.pa10_trajectory",
    "ada_dynamics.scenarios.experiments.space_robots",
    "ada_dynamics.scenarios.experiments.two_arm_bar",
    "ada_dynamics.scenarios.experiments.virtual_chains",
)
