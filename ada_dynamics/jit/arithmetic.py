# SPDX-License-Identifier: Apache-2.0
"""Floating-point instructions of elementary functions, whose accuracy hangs on every single rounding."""

from __future__ import annotations

from ada_dynamics.jit.llvm_text import Body, Lanes


class Arithmetic:
    """Instructions with exactly the roundings that are written: no `contract` flag anywhere."""

    def __init__(self, lanes: Lanes, fma: bool) -> None:
        self.lanes = lanes
        self.fma = fma
        self.body = Body()

    def multiply(self, a: str, b: str) -> str:
        """a b."""
        return self.body.emit(f"fmul {self.lanes.real} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        """a + b."""
        return self.body.emit(f"fadd {self.lanes.real} {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        """a - b."""
        return self.body.emit(f"fsub {self.lanes.real} {a}, {b}")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a b + c, with one rounding where the machine can."""
        if not self.fma:
            return self.add(self.multiply(a, b), c)
        real = self.lanes.real
        return self.body.emit(f"call {real} @llvm.fma.{self.lanes.suffix}({real} {a}, {real} {b}, {real} {c})")

    def choose(self, condition: str, a: str, b: str) -> str:
        """a where the condition holds, else b."""
        real = self.lanes.real
        return self.body.emit(f"select {self.lanes.boolean} {condition}, {real} {a}, {real} {b}")

    def exact_difference(self, a: str, b: str) -> tuple[str, str]:
        """a - b rounded, and what the rounding took away (Knuth's two-sum)."""
        total = self.subtract(a, b)
        back = self.subtract(total, a)
        lost_a = self.subtract(a, self.subtract(total, back))
        lost_b = self.add(b, back)
        return total, self.subtract(lost_a, lost_b)

    def horner(self, coefficients: tuple[float, ...], x: str) -> str:
        """c0 + x (c1 + x (c2 + ...))."""
        value = self.lanes.number(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = self.multiply_add(value, x, self.body.constant(self.lanes, coefficient))
        return value
