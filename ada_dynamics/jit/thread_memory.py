# SPDX-License-Identifier: Apache-2.0
"""Memory of a thread in LLVM's text: elements of its state in arrays, and places where its own numbers wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ada_dynamics.jit.keeping import Place
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.target import Target

GROUP = 64  # threads side by side: kernels use up to 255 of 65536 registers each, and small groups leave fewer unused


@dataclass(frozen=True)
class ThreadMemory:
    """Two kinds of memory, %fast and %slow: what the threads of a group share, and the thread's own."""

    target: Target
    number: Lanes
    stored: Lanes  # of numbers in arrays

    def kind(self, is_fast: bool) -> str:
        """LLVM's type of an address."""
        return ("ptr addrspace(3)" if is_fast else "ptr addrspace(5)") if self.target.is_gpu else "ptr"

    @property
    def table(self) -> str:
        """LLVM's type of an address of constants."""
        return "ptr addrspace(4)" if self.target.is_gpu else "ptr"

    @property
    def constant(self) -> str:
        """Where constants are, in a definition."""
        return "addrspace(4) " if self.target.is_gpu else ""

    @property
    def parameters(self) -> str:
        """Of a function that uses both."""
        return f"{self.kind(True)} %fast, {self.kind(False)} %slow"

    def put(self, body: Body, place: Place, value: str) -> None:
        """To memory. Volatile: an assembler that keeps such numbers in registers after all runs out of them."""
        address = self._address(body, place, 0)
        body.do(f"store volatile {self.number.real} {value}, {address}")

    def fetch(self, body: Body, place: Place, further: str | int = 0) -> str:
        """Back from memory: from a place, or so many places of its kind further on."""
        return body.emit(f"load volatile {self.number.real}, {self._address(body, place, further)}")

    def _address(self, body: Body, place: Place, further: str | int) -> str:
        kind, first = self.kind(place.is_fast), "%fast" if place.is_fast else "%slow"
        # threads of a group lie side by side in what they share
        step = GROUP if place.is_fast and self.target.is_gpu else 1
        if isinstance(further, str):
            assert step == 1
            offset = body.emit(f"add i64 {further}, {place.number}")
        else:
            offset = str(step * (place.number + further))
        address = body.emit(f"getelementptr {self.number.scalar}, {kind} {first}, i64 {offset}")
        return f"{kind} {address}, align {self.number.bits // 8}"


class Strided:
    """Elements of state %k of an array."""

    def __init__(self, body: Body, name: str, number: Lanes, stored: Lanes) -> None:
        """Args: where code goes; the array's name; of numbers in registers; and in the array."""
        self.body, self.number, self.stored = body, number, stored
        of_state = body.emit(f"sext i32 %{name}_of_state to i64")
        self.first = body.element(f"%{name}", body.emit(f"mul i64 %k, {of_state}"), stored.scalar)
        self.step = body.emit(f"sext i32 %{name}_of_element to i64")

    def _address(self, i: int | str) -> str:
        if i == 0:
            return self.first
        return self.body.element(self.first, self.body.emit(f"mul i64 {self.step}, {i}"), self.stored.scalar)

    def load(self, i: int) -> str:
        """Element i."""
        loaded = self.body.emit(f"load {self.stored.real}, ptr {self._address(i)}, align {self.stored.bits // 8}")
        return self._converted("fpext", self.stored, loaded, self.number)

    def store(self, i: int | str, value: str) -> None:
        """Element i, a number or an i64."""
        value = self._converted("fptrunc", self.number, value, self.stored)
        self.body.do(f"store {self.stored.real} {value}, ptr {self._address(i)}, align {self.stored.bits // 8}")

    def store_steps(self, first: str, stride: int, values: Sequence[str]) -> None:
        """Element `first`, an i64, and every `stride`-th from there on.

        Each address comes from the one before: no register keeps any of them from one turn of a loop to the next.
        """
        step = self.body.emit(f"mul i64 {self.step}, {stride}")
        address = self._address(first)
        for value in values:
            value = self._converted("fptrunc", self.number, value, self.stored)
            self.body.do(f"store {self.stored.real} {value}, ptr {address}, align {self.stored.bits // 8}")
            address = self.body.element(address, step, self.stored.scalar)

    def _converted(self, how: str, of: Lanes, value: str, to: Lanes) -> str:
        return value if of == to else self.body.emit(f"{how} {of.real} {value} to {to.real}")
