# SPDX-License-Identifier: Apache-2.0
"""Machines that run kernels of threads, and the one that every computer has: its own processor, thread after thread.

`HostThreads` computes what a graphics processor would, from the same text, in this process's memory: kernels of threads
can be tested, and looked at, anywhere.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.jit import compiler
from ada_dynamics.jit.dlpack import CPU
from ada_dynamics.jit.emit_threads import THREADS
from ada_dynamics.jit.target import Target

LARGEST = 2**31 - 1  # strides and states are 32-bit


class Strided(NamedTuple):
    """Numbers of states in a machine's memory: where the first is, and how far (in numbers) the others are."""

    address: int
    of_state: int
    of_element: int


class Block(Protocol):
    """Memory of a machine; it is given back when this object goes away."""

    address: int
    size: int


class Machine(Protocol):
    """A machine that runs kernels of threads. A stream is a number; what is asked for in one is done in order."""

    name: str
    target: Target
    device: tuple[int, int]  # in the words of DLPack

    def load(self, code: bytes) -> Any:
        """A compiled kernel, ready to run."""

    def launch(self, kernel: Any, arguments: Sequence[Any], states: int, stream: int) -> None:
        """Run a kernel, one thread for each state."""

    def allocate(self, size: int, stream: int) -> Block:
        """Memory of so many bytes."""

    def staging(self, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Memory of this process from which copies are fast."""

    def free_memory(self) -> int:
        """Bytes that can be had."""

    def to_device(self, address: int, array: np.ndarray[Any, Any], stream: int) -> None:
        """Copy a contiguous array there."""

    def to_host(self, array: np.ndarray[Any, Any], address: int, stream: int) -> None:
        """Copy back."""

    def clear(self, address: int, size: int, stream: int) -> None:
        """Set bytes to zero."""

    def new_stream(self) -> int:
        """A stream of its own."""

    def wait(self, stream: int) -> None:
        """Until all that was asked for in a stream is done."""

    def follow(self, stream: int, other: int) -> None:
        """Let a stream go on only after what was asked for in another one until now."""

    def refuse_foreign(self, address: int, name: str) -> None:
        """Raise InputError where an address is not in this machine's memory."""


class _HostBlock:
    def __init__(self, size: int) -> None:
        self._memory = np.empty(max(size, 1), np.uint8)
        self.address, self.size = self._memory.ctypes.data, size


class HostThreads:
    """The processor at hand, one thread after the other."""

    name, device = "host", (CPU, 0)

    def __init__(self, target: Target | None = None) -> None:
        """Args: what its code is made for; the processor at hand, one state at a time, where not given."""
        self.target = target or replace(Target.host(), lanes=1, vector_bits=64)

    def load(self, code: bytes) -> tuple[compiler.Library, Any]:
        """The library, which must outlive its function, and that."""
        library = compiler.load(code, (THREADS,))
        return library, ctypes.CFUNCTYPE(None)(library.address(THREADS))

    def launch(self, kernel: Any, arguments: Sequence[Any], states: int, stream: int) -> None:
        """Run for all states."""
        kernel[1](*arguments)

    def allocate(self, size: int, stream: int) -> Block:
        """Memory of this process."""
        return _HostBlock(size)

    def staging(self, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Memory of this process."""
        return np.empty(size, np.uint8)

    def free_memory(self) -> int:
        """As much as addresses can tell."""
        return 2**62

    def to_device(self, address: int, array: np.ndarray[Any, Any], stream: int) -> None:
        """Copy."""
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def to_host(self, array: np.ndarray[Any, Any], address: int, stream: int) -> None:
        """Copy."""
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def clear(self, address: int, size: int, stream: int) -> None:
        """Zero."""
        ctypes.memset(address, 0, size)

    def new_stream(self) -> int:
        """Everything is done when it is asked for."""
        return 0

    def wait(self, stream: int) -> None:
        """Nothing is under way."""

    def follow(self, stream: int, other: int) -> None:
        """Nothing is under way."""

    def refuse_foreign(self, address: int, name: str) -> None:
        """Only nowhere is foreign."""
        if not address:
            raise InputError(f"{name} has no memory (its address is 0).", field=name)
