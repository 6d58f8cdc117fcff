# SPDX-License-Identifier: Apache-2.0
"""The compiled marches, ready to be called: one object for all robots and methods."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import lru_cache

from ada_dynamics.jit import compiler
from ada_dynamics.jit.march_text import MARCHES, march_text
from ada_dynamics.jit.native import obtain
from ada_dynamics.jit.target import Target

_lock = threading.Lock()


class CompiledMarch:
    """Functions of the address of a `MarchState`; they return the status word."""

    def __init__(self) -> None:
        target = Target.host()
        code, _ = obtain("march", "march", lambda: (march_text(target), {}), target)
        self.lanes = target.lanes
        self._library = compiler.load(code, MARCHES)
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
        functions: list[Callable[[int], int]] = [kind(self._library.address(name)) for name in MARCHES]
        self.fixed, self.direct, self.adaptive, self.backward_fixed, self.backward_direct = functions


@lru_cache(maxsize=1)
def _march() -> CompiledMarch:
    return CompiledMarch()


def march() -> CompiledMarch:
    """The marches, compiled or fetched from the cache at the first call."""
    with _lock:
        return _march()
