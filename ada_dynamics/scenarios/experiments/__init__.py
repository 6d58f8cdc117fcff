# SPDX-License-Identifier: Apache-2.0
"""Experiments that are more than one simulation, one module each; imported when one of them is asked for."""

from __future__ import annotations

# Full names of modules whose `@experiment` and `@measure` functions scenarios can call.
MODULES: tuple[str, ...] = (
    "ada_dynamics.scenarios.experiments.awa_pipeline",
    "ada_dynamics.scenarios.experiments.awa_simulators",
    "ada_dynamics.scenarios.experiments.crb_note",
    "ada_dynamics.scenarios.experiments.engines",
    "ada_dynamics.scenarios.experiments.euler_angles",
    "ada_dynamics.scenarios.experiments.hybrid_cost",
    "ada_dynamics.scenarios.experiments.space_robots",
)
