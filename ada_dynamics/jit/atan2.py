# SPDX-License-Identifier: Apache-2.0
"""LLVM text of the arctangent of two numbers, without branches: one of three reductions, then a polynomial.

With a >= b >= 0 the absolute values of both numbers,

    atan(b / a) = atan(k) + atan(t),  t = (b - k a) / (a + k b),  k = 0, 1/2 or 1,

where k is chosen so that |t| <= 0.27; then b - k a has no rounding error. Mirroring back to where the point is adds a
multiple of pi / 2 and signs. Zeros count with their signs, as in C: atan2(-0, -1) = -pi.
"""

from __future__ import annotations

from ada_dynamics.jit.arithmetic import Arithmetic
from ada_dynamics.jit.llvm_text import Lanes

# atan(t) = t + t z (c0 + c1 z + ...) with z = t^2, for |t| <= 0.27: a minimax fit, relative error 3e-19.
_ARCTANGENT = (
    -0.3333333333333328,
    0.19999999999971488,
    -0.14285714280286882,
    0.1111111060403728,
    -0.090908822387342,
    0.07691445988354484,
    -0.06649525940608296,
    0.056742965125003125,
    -0.03822886376858194,
)
# b / a above which k is 1/2, and above which it is 1.
_HALF_ABOVE, _ONE_ABOVE = 0.27, 0.8
# Angles in two parts; the first is a multiple of 2^-48, so that sums of them are exact.
_ATAN_HALF = (0.46364760900080526, 8.553660459218291e-16)
_ATAN_ONE = (0.7853981633974456, 2.6951514290790595e-15)
_QUARTER = (1.5707963267948948, 1.837589179357618e-15)
# Sizes beyond which both numbers are scaled, which changes no quotient: a sum could overflow, half of one vanish.
_LARGE, _SHRINK = 1e300, 0.125
_SMALL, _GROW = 1e-290, 2.0**200


def atan2_name(lanes: Lanes) -> str:
    """Name of the function."""
    return f"@atan2_{lanes.width}"


def atan2_definition(lanes: Lanes, fma: bool) -> str:
    """`double @atan2_W(y, x)` for W lanes, always inlined; NaN where one of the two is."""
    code = _Arctangent(lanes, fma)
    angle = code.angle()
    real = lanes.real
    head = f"define internal {real} {atan2_name(lanes)}({real} %y, {real} %x) alwaysinline #0"
    return f"{head} {{\n{code.body}\n  ret {real} {angle}\n}}\n"


class _Arctangent(Arithmetic):
    """Steps of the arctangent."""

    def angle(self) -> str:
        real, number = self.lanes.real, self.lanes.number
        y, x = self.size("%y"), self.size("%x")
        steep = self.body.emit(f"fcmp ogt {real} {y}, {x}")
        rest, known = self.reduced(self.choose(steep, y, x), self.choose(steep, x, y))
        square = self.multiply(rest, rest)
        part = self.multiply_add(self.multiply(rest, square), self.horner(_ARCTANGENT, square), rest)

        # Mirrored at the diagonal where the point is steep: pi / 2 - angle; at the y-axis where x < 0: pi - angle.
        left = self.is_negative("%x")
        quarters = self.choose(steep, number(1.0), self.choose(left, number(2.0), number(0.0)))
        backwards = self.body.emit(f"xor {self.lanes.boolean} {steep}, {left}")
        sign = self.choose(backwards, number(-1.0), number(1.0))
        large, small = (
            self.add(self.multiply(quarters, number(quarter)), self.multiply(sign, angle))
            for quarter, angle in zip(_QUARTER, known, strict=True)
        )
        return self.signed_as_y(self.add(large, self.multiply_add(sign, part, small)))

    def reduced(self, a: str, b: str) -> tuple[str, tuple[str, str]]:
        """t, and atan(k) in two parts."""
        real, number = self.lanes.real, self.lanes.number
        large = self.body.emit(f"fcmp ogt {real} {a}, {number(_LARGE)}")
        small = self.body.emit(f"fcmp olt {real} {a}, {number(_SMALL)}")
        factor = self.choose(large, number(_SHRINK), self.choose(small, number(_GROW), number(1.0)))
        a, b = self.multiply(a, factor), self.multiply(b, factor)
        half, one = (
            self.body.emit(f"fcmp ogt {real} {b}, {self.multiply(a, number(start))}")
            for start in (_HALF_ABOVE, _ONE_ABOVE)
        )

        def chosen(at_one: float, at_half: float) -> str:
            return self.choose(one, number(at_one), self.choose(half, number(at_half), number(0.0)))

        k = chosen(1.0, 0.5)
        above = self.subtract(b, self.multiply(k, a))
        below = self.add(a, self.multiply(k, b))
        # 0 / 0 would not be a number
        none = self.body.emit(f"fcmp oeq {real} {a}, {number(0.0)}")
        rest = self.body.emit(f"fdiv {real} {above}, {self.choose(none, number(1.0), below)}")
        return rest, (chosen(_ATAN_ONE[0], _ATAN_HALF[0]), chosen(_ATAN_ONE[1], _ATAN_HALF[1]))

    def size(self, x: str) -> str:
        real = self.lanes.real
        return self.body.emit(f"call {real} @llvm.fabs.{self.lanes.suffix}({real} {x})")

    def is_negative(self, x: str) -> str:
        """True if the sign of x is set, be it that of -0."""
        integer = self.lanes.integer
        bits = self.body.emit(f"bitcast {self.lanes.real} {x} to {integer}")
        return self.body.emit(f"icmp slt {integer} {bits}, {self.lanes.whole(0)}")

    def signed_as_y(self, angle: str) -> str:
        real, integer = self.lanes.real, self.lanes.integer
        bits = self.body.emit(f"bitcast {real} %y to {integer}")
        sign = self.body.emit(f"and {integer} {bits}, {self.lanes.whole(-(2**63))}")
        value = self.body.emit(f"bitcast {real} {angle} to {integer}")
        return self.body.emit(f"bitcast {integer} {self.body.emit(f'or {integer} {value}, {sign}')} to {real}")
