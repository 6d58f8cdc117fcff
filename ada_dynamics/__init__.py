# SPDX-License-Identifier: Apache-2.0
"""Dynamics of robots made of chains, trees and closed loops.

import ada_dynamics as ada

model = ada.load("pa10")
dyn = ada.Dynamics(model)
a = dyn.forward(q, v, tau)
log = ada.Simulation(model, q).run(3.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ada_dynamics._version import __version__ as __version__
from ada_dynamics.errors import *  # noqa: F403 - all errors and warnings, see its __all__
from ada_dynamics.errors import __all__ as _ERRORS

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics as Dynamics
    from ada_dynamics.dynamics.close_loops import assembly_modes as assembly_modes
    from ada_dynamics.dynamics.close_loops import close_loops as close_loops
    from ada_dynamics.dynamics.close_loops import close_loops_batch as close_loops_batch
    from ada_dynamics.execution import in_threads as in_threads
    from ada_dynamics.identification import Identification as Identification
    from ada_dynamics.identification import identify as identify
    from ada_dynamics.ik import ComTask as ComTask
    from ada_dynamics.ik import IkResult as IkResult
    from ada_dynamics.ik import OrientationTask as OrientationTask
    from ada_dynamics.ik import PoseTask as PoseTask
    from ada_dynamics.ik import PositionTask as PositionTask
    from ada_dynamics.ik import PostureTask as PostureTask
    from ada_dynamics.ik import solve_ik as solve_ik
    from ada_dynamics.model import Builder as Builder
    from ada_dynamics.model import Model as Model
    from ada_dynamics.model import chain_3d as chain_3d
    from ada_dynamics.model import planar_chain as planar_chain
    from ada_dynamics.robots.catalogue import robots as robots
    from ada_dynamics.robots.check import check as check
    from ada_dynamics.robots.load import load as load
    from ada_dynamics.simulation import Contact as Contact
    from ada_dynamics.simulation import Log as Log
    from ada_dynamics.simulation import Simulation as Simulation
    from ada_dynamics.transmission import Transmission as Transmission

# Imported on first use, to keep `import ada_dynamics` fast.
_LAZY = {
    "ada_dynamics.dynamics": ("Dynamics",),
    "ada_dynamics.identification": ("Identification", "identify"),
    "ada_dynamics.ik": (
        *("ComTask", "IkResult", "OrientationTask", "PoseTask", "PositionTask", "PostureTask"),
        "solve_ik",
    ),
    "ada_dynamics.dynamics.close_loops": ("assembly_modes", "close_loops", "close_loops_batch"),
    "ada_dynamics.model": ("Builder", "Model", "chain_3d", "planar_chain"),
    "ada_dynamics.robots.check": ("check",),
    "ada_dynamics.robots.load": ("load",),
    "ada_dynamics.execution": ("in_threads",),
    "ada_dynamics.simulation": ("Contact", "Log", "Simulation"),
    "ada_dynamics.transmission": ("Transmission",),
}

__all__ = sorted(["__version__", "robots", *_ERRORS, *(name for names in _LAZY.values() for name in names)])


def __getattr__(name: str) -> object:
    from importlib import import_module
    from importlib.util import find_spec

    module = next((module for module, names in _LAZY.items() if name in names), None)
    if module is not None:
        value: object = getattr(import_module(module), name)
    elif not name.startswith("_") and find_spec(f"{__name__}.{name}"):  # a subpackage, such as ada.ik
        try:
            value = import_module(f"{__name__}.{name}")
        except ImportError as problem:  # hasattr() expects an AttributeError
            raise AttributeError(f"ada_dynamics.{name} cannot be imported: {problem}") from problem
    else:
        raise AttributeError(f"module 'ada_dynamics' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
