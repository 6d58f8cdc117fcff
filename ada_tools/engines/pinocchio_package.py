# SPDX-License-Identifier: Apache-2.0
"""The package pinocchio, which only this room, tests and benchmarks use: imported when it is first asked for."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install


def pinocchio() -> Any:
    """The module.

    Raises:
        InputError: it is not installed or cannot be imported, or the package of that name is another one.
    """
    try:
        import pinocchio as module
    except Exception as problem:  # of any kind: compiled for another numpy, or the other package of that name
        is_missing = isinstance(problem, ModuleNotFoundError) and problem.name == "pinocchio"
        why = "is not installed" if is_missing else f"cannot be imported ({type(problem).__name__}: {problem})"
        text = f"the comparison with pinocchio needs that library, which {why}. {_fix()}"
        raise InputError(text, field="pinocchio") from None
    if not hasattr(module, "JointModelRevoluteUnaligned"):
        # PyPI has a test runner of the same name.
        where = getattr(module, "__file__", None)
        raise InputError(
            f"the module pinocchio in {where} is not the dynamics library but another package of that name. Remove it "
            f"with: pip uninstall pinocchio. {_fix()}",
            field="pinocchio",
            value=where,
        )
    return module


def _fix() -> str:
    return (
        f"Install it with: {how_to_install('oracle')}, or pip install pin 'numpy=={version('numpy')}' (the package is "
        "named pin, and must be compiled for this numpy; pip uninstall pinocchio removes another package of that name)."
    )
