# SPDX-License-Identifier: Apache-2.0
"""The reference of the library, from its code: every public name with signature and docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from makers.docstrings import entry, markdown, written

LIBRARY = Path(__file__).resolve().parents[2] / "ada_dynamics"
FRAMEWORKS = ("casadi", "gym", "gymnasium", "jax", "torch")


@dataclass(frozen=True)
class Page:
    """A page of names. By module: names with blanks between them; "*" is all that it offers and no page names."""

    file: str
    title: str
    begins: str
    names: dict[str, str]


PAGES = (
    Page(
        "robots",
        "Robots and models",
        "Load a robot, build one in code, look what is wrong with it, close its loops.",
        {
            "ada_dynamics": "load check close_loops close_loops_batch assembly_modes Model Builder *",
            "ada_dynamics.constraints.closed_configuration": "ClosedConfiguration",
            "ada_dynamics.robots.check.report": "CheckFinding CheckReport",
            "ada_dynamics.model": "*",
            "ada_dynamics.model.elements": "LoopJoint",
            "ada_dynamics.model.edit": "*",
            "ada_dynamics.robots.mechanisms": "*",
            "ada_dynamics.robots.writers": "write render Spelling",
            "ada_dynamics.robots.catalogue": "CATALOGUE entry start_of",
        },
    ),
    Page(
        "dynamics",
        "Dynamics",
        "Everything that can be computed of a model in one state, or in many at once.",
        {
            "ada_dynamics": "Dynamics Transmission",
            "ada_dynamics.dynamics.constraint_queries": "ConstraintQueries",
            "ada_dynamics.dynamics.derivatives": "DerivativeQueries ParameterQueries",
            "ada_dynamics.dynamics.computation": "Derivatives",
            "ada_dynamics.dynamics.dynamics": "Energy JointWrenches",
            "ada_dynamics.constraints.analysis": "ConstraintState",
            "ada_dynamics.constraints.coordinates": "CoordinateSets",
            "ada_dynamics.dynamics.loop_closure": "LoopClosure ClosedPositions",
            "ada_dynamics.transmission": "*",
        },
    ),
    Page(
        "simulation",
        "Simulation",
        "Let a robot move, with contact, stops, servos, events and pushes, and keep what happened.",
        {
            "ada_dynamics": "Simulation Log Contact",
            "ada_dynamics.simulation": "*",
            "ada_dynamics.contact.contact": "*",
            "ada_dynamics.simulation.servos": "ServoBank",
            "ada_dynamics.simulation.rollout": "Rollout",
            "ada_dynamics.simulation.derivatives": "StepDerivatives",
            "ada_dynamics.simulation.rollout_gradient": "TrajectoryGradient",
        },
    ),
    Page(
        "inverse_kinematics",
        "Inverse kinematics",
        "Find poses that serve tasks; of the PA-10 in closed form.",
        {
            "ada_dynamics": "solve_ik PoseTask PositionTask OrientationTask PostureTask ComTask IkResult",
            "ada_dynamics.ik": "*",
            "ada_controllers.pa10_kinematics": "*",
        },
    ),
    Page(
        "identification",
        "Identification",
        "Masses, inertias and losses from recorded motions.",
        {"ada_dynamics": "identify Identification", "ada_dynamics.identification": "*"},
    ),
    Page(
        "analysis",
        "Analysis and pictures",
        "Measures of motions and poses; plots, snapshots and films.",
        {
            **{
                f"ada_dynamics.analysis.{name}": "*"
                for name in (
                    "power",
                    "motion",
                    "balance",
                    "singularity",
                    "workspace",
                    "sampled_signals",
                )
            },
            "ada_dynamics.drawing.plots": "plot_log figure_of",
            "ada_dynamics.drawing.snapshots": "plot_snapshots",
            "ada_dynamics.drawing.animate": "animate",
            "ada_dynamics.drawing.maps": "plot_map",
        },
    ),
    Page(
        "controllers",
        "Controllers",
        "Control laws, what they follow and what they give. Each law with its settings: [](../controllers.md).",
        {
            "ada_controllers": "*",
            "ada_controllers.in_simulation": "InSimulation",
        },
    ),
    Page(
        "driven_robots",
        "Robots that are driven",
        "One contract for a simulated robot, an emulated and a real one: commands, limits, the safety cycle.",
        {
            "ada_robot.robot": "*",
            "ada_robot.contract": "*",
            "ada_robot.driver": "RobotDriver Feedback Alarm LinkCounts",
            "ada_robot.safety.settings": "SafetySettings",
            "ada_robot.trajectory.trajectory": "*",
            "ada_robot.trajectory.path": "*",
        },
    ),
    Page(
        "devices",
        "Devices",
        "Robots and sensors by name, and the wires to them.",
        {
            "ada_hardware.robot": "Robot",
            "ada_hardware.registry": "*",
            "ada_hardware.transport": "*",
            "ada_hardware.force_torque.sensor": "*",
        },
    ),
    Page(
        "scenarios",
        "Scenarios and sweeps",
        "Motions as data, and thousands of them.",
        {"ada_tools.scenario": "*", "ada_tools.sweep": "*"},
    ),
)


def offered(module: str) -> list[str]:
    """The names that a module offers: its `__all__`, else the classes and functions that are its own."""
    found = importlib.import_module(module)
    own = [
        name
        for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module and callable(value)
    ]
    return list(getattr(found, "__all__", own))


def _names(module: str, names: str) -> list[str]:
    chosen = names.split()
    if "*" not in chosen:
        return chosen
    elsewhere = {name for page in PAGES for name in page.names.get(module, "").split()}
    return [name for name in chosen if name != "*"] + [name for name in offered(module) if name not in elsewhere]


def shown() -> Iterator[tuple[Page, str, str, Any]]:
    """Entries of the pages: page, module, name and value; each once, errors on their own page."""
    seen: set[int] = set()
    for page in PAGES:
        for module, names in page.names.items():
            for name in _names(module, names):
                value = getattr(importlib.import_module(module), name)
                is_error = inspect.isclass(value) and issubclass(value, Exception)
                if id(value) not in seen and not is_error and name != "__version__":
                    seen.add(id(value))
                    yield page, module, name, value


def adapters() -> str:
    """The page on adapters to other frameworks, whose modules need these to be imported."""
    page = (
        "# torch, JAX, CasADi\n\nThe same dynamics as functions of other frameworks. The library needs none of them.\n"
    )
    for path in sorted(LIBRARY.glob("*.py")):
        if path.stem in FRAMEWORKS:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            module = f"ada_dynamics.{path.stem}"
            page += f"\n## `{module}`\n\n{markdown(ast.get_docstring(tree) or '')}\n\n{written(tree, module)}"
    return page


def texts() -> dict[str, str]:
    """The pages by the name of their file."""
    made = {page.file: f"# {page.title}\n\n{page.begins}\n" for page in PAGES}
    last = ""
    for page, module, name, value in shown():
        if last != page.file + module:
            last = page.file + module
            made[page.file] += f"\n## `{module}`\n"
        made[page.file] += f"\n{entry(name, value, module)}"
    return {f"{file}.md": text for file, text in made.items()} | {"frameworks.md": adapters()}
