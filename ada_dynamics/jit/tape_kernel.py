# SPDX-License-Identifier: Apache-2.0
"""A kernel whose function is data for an interpreter: for functions that are too large to compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr.function import Function
from ada_dynamics.jit.kernel import Kernel, KernelInfo
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.tape_backend import TapeBackend
from ada_dynamics.jit.target import Target


class TapeKernel(Kernel):
    """A function of some input vectors, of any size: nothing is compiled for it.

    It takes what `Kernel` takes and does the same. Time and memory to prepare it grow with the number of operations
    alone; one evaluation takes about five times as long as that of compiled code.
    """

    def __init__(
        self,
        signature: Signature,
        trace: Callable[[], Function],
        key: str,
        target: Target | None = None,
        checked: bool = True,
    ) -> None:
        """Arguments as those of `Kernel`."""
        super().__init__(signature, trace, key, target, checked)
        self._runs = TapeBackend(signature, lambda: self.function, key, target, checked)

    @property
    def function(self) -> Function:
        """The traced function, made anew each time: it takes far more memory than the tape."""
        function = self._make()
        self.signature.expect(function)
        return function

    @property
    def backend(self) -> TapeBackend:  # type: ignore[override]
        """What runs the tape."""
        return self._runs

    def prepare(self, kind: str = "single") -> None:
        """Make the tape now, and load the interpreter for "single" or "batch"."""
        if kind not in ("single", "batch"):
            raise InputError(f"{self.signature.name}: there is no code {kind!r}; prepare 'single' or 'batch'")
        self._runs.machine(1 if kind == "single" else self._runs.lanes)

    def info(self) -> KernelInfo:
        """Backend, flops, and what was made or loaded so far."""
        tape, report = self._runs.tape, self._runs.report
        return KernelInfo(self._runs.name, tape.flops, dict(report.seconds), dict(report.cached), self._runs.lanes)

    def native_address(self, symbol: str = "kernel") -> NoReturn:
        """There is none: CompileError."""
        raise CompileError(
            f"kernel {self.signature.name} runs on a tape; it has no compiled code {symbol!r} of its own"
        )
