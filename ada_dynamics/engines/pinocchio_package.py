# SPDX-License-Identifier: Apache-2.0
"""The package pinocchio, which only this room, tests and benchmarks use: imported when it is first asked for."""

from __future__ import annotations

from typing import Any

from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install


def pinocchio() -> Any:
    """The module.

    Raises:
        InputError: it is not installed, or the package of that name is another one.
    """
    try:
        import pinocchio as module
    except ImportError:
        raise InputError(
            f"the comparison with pinocchio needs that library, which is not installed. {_fix()}", field="pinocchio"
        ) from None
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
    return f"Install it with: {how_to_install('oracle')} (the package is named pin)."
