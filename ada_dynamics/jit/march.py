# SPDX-License-Identifier: Apache-2.0
"""The compiled loops of `march_text`, ready to be called: one object for all robots and methods."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import lru_cache

from ada_dynamics.jit import compiler
from ada_dynamics.jit.march_adaptive import ADAPTIVE
from ada_dynamics.jit.march_text import DIRECT, FIXED, march_text
from ada_dynamics.jit.native import obtain
from ada_dynamics.jit.target import Target

_lock = threading.Lock()
_POINTERS = (ctypes.c_void_p,) * 8  # rate, settle; x, u, t, state, log, work
_SIZES = (ctypes.c_int64,) * 2  # n, states
_GRID = (ctypes.c_int64,) * 4 + (ctypes.c_double,) * 2  # first, steps, every, phase, origin, h
_METHOD = (ctypes.c_void_p, ctypes.c_int64)  # method, stages
_ROWS = (
    (ctypes.c_int64,) * 2 + (ctypes.c_double,) * 3 + (ctypes.c_int64,)
)  # first, rows, origin, interval, tolerance, used


class March:
    """Functions of the loaded object; arguments as in `march_text`, the status word as result."""

    def __init__(self) -> None:
        target = Target.host()
        code, _ = obtain("march", "march", lambda: (march_text(target), {}), target)
        self.lanes = target.lanes
        self._library = compiler.load(code, (FIXED, ADAPTIVE, DIRECT))
        self.fixed = self._function(FIXED, *_POINTERS, *_SIZES, *_METHOD, *_GRID)
        self.direct = self._function(DIRECT, *_POINTERS, *_SIZES, *_GRID)
        self.adaptive = self._function(ADAPTIVE, *_POINTERS, *_SIZES, *_METHOD, *_ROWS)

    def _function(self, name: str, *kinds: type) -> Callable[..., int]:
        return ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self._library.address(name))


@lru_cache(maxsize=1)
def _march() -> March:
    return March()


def march() -> March:
    """The loops, compiled or fetched from the cache at the first call."""
    with _lock:
        return _march()
