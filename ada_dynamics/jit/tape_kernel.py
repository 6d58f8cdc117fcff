# SPDX-License-Identifier: Apache-2.0
"""A kernel whose function is data for an interpreter: for functions that are too large to compile."""

from __future__ import annotations

from ada_dynamics.errors import CompileError
from ada_dynamics.expr.function import Function
from ada_dynamics.jit.emit_kernel import SINGLE
from ada_dynamics.jit.kernel import Kernel
from ada_dynamics.jit.tape_backend import TapeBackend
from ada_dynamics.jit.target import Target


class TapeKernel(Kernel):
    """A function of some input vectors, of any size: nothing is compiled for it.

    It takes what `Kernel` takes and does the same. Time and memory to prepare it grow with the number of operations
    alone; one evaluation takes about five times as long as that of compiled code. Where no code can be compiled at all,
    it is generated Python, as any kernel.
    """

    @property
    def function(self) -> Function:
        """The traced function, made anew each time: it takes far more memory than the tape."""
        function = self._make()
        self.signature.expect(function)
        return function

    def _compiled(self, target: Target) -> TapeBackend:
        return TapeBackend(self.signature, lambda: self.function, self._key, target, self._checked)

    def native_address(self, symbol: str = SINGLE) -> int:
        """Address of code for one state that runs the tape; CompileError for any other code: there is none."""
        backend = self.backend
        if symbol != SINGLE or not isinstance(backend, TapeBackend):
            raise CompileError(
                f"kernel {self.signature.name} runs on a tape; it has no compiled code {symbol!r} of its own"
            )
        return backend.address()
