# SPDX-License-Identifier: Apache-2.0
"""LLVM text of sine, cosine and arctangent, without branches.

Sine and cosine are computed together. Range reduction subtracts n pi/2, where pi/2 has three parts (with fused
multiply-add) or five (without, where the products with n must be exact). The polynomials are those of fdlibm; for
floats, those of the single-precision functions of FreeBSD. Both results are NaN beyond the limit and for NaN.

Arctangent: with a >= b >= 0 the absolute values of the arguments,

    atan(b / a) = atan(k) + atan(t),  t = (b - k a) / (a + k b),  k = 0, 1/2 or 1,

where k is selected such that |t| <= 0.27; then b - k a has no rounding error. Reflections add a multiple of pi/2 and
signs. The signs of zeros count as in C: atan2(-0, -1) = -pi.
"""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.errors import CompileError
from ada_dynamics.jit.lowering import Instructions, Lanes


# --- arithmetic -------------------------------------------------------------------------------------------------------
class Arithmetic:
    """Instructions without the `contract` flag, so that every rounding is as written."""

    def __init__(self, lanes: Lanes, fma: bool) -> None:
        self.lanes = lanes
        self.fma = fma
        self.body = Instructions()

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
        """a b + c, with one rounding if the target has fused multiply-add."""
        if not self.fma:
            return self.add(self.multiply(a, b), c)
        real = self.lanes.real
        return self.body.emit(f"call {real} @llvm.fma.{self.lanes.suffix}({real} {a}, {real} {b}, {real} {c})")

    def choose(self, condition: str, a: str, b: str) -> str:
        """a where the condition is true, else b."""
        real = self.lanes.real
        return self.body.emit(f"select {self.lanes.boolean} {condition}, {real} {a}, {real} {b}")

    def exact_difference(self, a: str, b: str) -> tuple[str, str]:
        """a - b rounded, and the rounding error (Knuth's two-sum)."""
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


# --- sine and cosine --------------------------------------------------------------------------------------------------
# |angle| [rad] up to which n has at most 30 bits, as the reduction without fused multiply-add requires.
LIMIT = 1.6e9

_SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COSINE = (
    -0.5,
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_TWO_OVER_PI = 0.63661977236758134308
_PI_2_FUSED = (1.57079632679489655800e00, 6.12323399573676603587e-17, -1.49738490485916983e-33)
# Four parts of 23 bits, whose products with a 30-bit integer are exact, and the remainder of pi/2.
_PI_2_SPLIT = tuple(
    float.fromhex(part)
    for part in ("0x1.921fb4p+0", "0x1.4442dp-24", "0x1.84698p-48", "0x1.3198ap-69", "0x1.701b839a25205p-92")
)


class _Numbers(NamedTuple):
    """Constants of a precision."""

    limit: float
    round: float  # x + round has round(x) in its low bits
    fused: tuple[float, ...]  # parts of pi/2
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


_DOUBLE = _Numbers(LIMIT, 6755399441055744.0, _PI_2_FUSED, _SINE, _COSINE)
# n has 22 bits; its error before rounding is at most 0.01.
_FLOAT = _Numbers(
    1e5,
    12582912.0,
    (1.57079637050628662109375, -4.371138828673793e-08, -1.7151245100058819e-15),
    (-0.16666666641626524, 0.008333329385889463, -0.00019839334836096632, 2.718311493989822e-06),
    (-0.499999997251031, 0.04166662332373906, -0.001388676377460993, 2.439044879627741e-05),
)


def sincos_name(lanes: Lanes) -> str:
    """Name of the function."""
    return f"@sincos{lanes.width}" + ("" if lanes.bits == 64 else "f")


def sincos_definition(lanes: Lanes, fma: bool) -> str:
    """`{sin, cos} @sincosW(x)` for W lanes, always inlined."""
    if lanes.bits == 32 and not fma:
        raise CompileError("sine in single precision requires a target with fused multiply-add")
    own = _DOUBLE if lanes.bits == 64 else _FLOAT
    code = _SineCosine(lanes, fma)
    body = code.body
    shifted = code.multiply_add("%x", lanes.number(_TWO_OVER_PI), lanes.number(own.round))
    turns = code.subtract(shifted, lanes.number(own.round))
    quadrant = body.emit(f"bitcast {lanes.real} {shifted} to {lanes.integer}")
    rest = code.reduce_fused(turns, own.fused) if fma else code.reduce_split(turns)
    size = body.emit(f"call {lanes.real} @llvm.fabs.{lanes.suffix}({lanes.real} %x)")
    inside = body.emit(f"fcmp ole {lanes.real} {size}, {lanes.number(own.limit)}")
    rest = code.choose(inside, rest, lanes.number(float("nan")))
    sine, cosine = code.polynomials(rest, own)

    low = body.emit(f"and {lanes.integer} {quadrant}, {lanes.whole(1)}")
    even = body.emit(f"icmp eq {lanes.integer} {low}, {lanes.whole(0)}")
    next_quadrant = body.emit(f"add {lanes.integer} {quadrant}, {lanes.whole(1)}")
    sine_out = code.flip_sign(code.choose(even, sine, cosine), quadrant)
    cosine_out = code.flip_sign(code.choose(even, cosine, sine), next_quadrant)
    first = body.emit(f"insertvalue {lanes.pair} undef, {lanes.real} {sine_out}, 0")
    both = body.emit(f"insertvalue {lanes.pair} {first}, {lanes.real} {cosine_out}, 1")
    body.do(f"ret {lanes.pair} {both}")
    return f"define internal {lanes.pair} {sincos_name(lanes)}({lanes.real} %x) alwaysinline #0 {{\n{body}\n}}\n"


class _SineCosine(Arithmetic):
    """Steps of sine and cosine."""

    def flip_sign(self, value: str, quadrant: str) -> str:
        """Negate where bit 1 of the quadrant is set."""
        real, integer = self.lanes.real, self.lanes.integer
        moved = self.body.emit(f"shl {integer} {quadrant}, {self.lanes.whole(self.lanes.bits - 2)}")
        sign = self.body.emit(f"and {integer} {moved}, {self.lanes.whole(-(2 ** (self.lanes.bits - 1)))}")
        bits = self.body.emit(f"bitcast {real} {value} to {integer}")
        bits = self.body.emit(f"xor {integer} {bits}, {sign}")
        return self.body.emit(f"bitcast {integer} {bits} to {real}")

    def reduce_fused(self, turns: str, parts: tuple[float, ...]) -> str:
        rest = "%x"
        for part in parts:
            rest = self.multiply_add(turns, self.body.constant(self.lanes, -part), rest)
        return rest

    def reduce_split(self, turns: str) -> str:
        """Subtract five parts: the first two differences are exact, the errors of the next two are added at the end."""
        products = [self.multiply(turns, self.lanes.number(part)) for part in _PI_2_SPLIT]
        rest = self.subtract(self.subtract("%x", products[0]), products[1])
        rest, error = self.exact_difference(rest, products[2])
        rest, error_2 = self.exact_difference(rest, products[3])
        return self.add(rest, self.subtract(self.add(error, error_2), products[4]))

    def polynomials(self, r: str, own: _Numbers) -> tuple[str, str]:
        """Sine and cosine for |r| <= pi/4."""
        square = self.multiply(r, r)
        sine = self.horner(own.sine, square)
        cube = self.multiply(r, square)
        cosine = self.horner(own.cosine, square)
        return self.multiply_add(sine, cube, r), self.multiply_add(cosine, square, self.lanes.number(1.0))


# --- arctangent -------------------------------------------------------------------------------------------------------
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
# Magnitudes beyond which both numbers are scaled, because a sum could overflow or half of a number underflow.
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

        # Reflection at the diagonal if |y| > |x|: pi / 2 - angle; at the y-axis if x < 0: pi - angle.
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
        """i1: whether the sign bit of x is set."""
        integer = self.lanes.integer
        bits = self.body.emit(f"bitcast {self.lanes.real} {x} to {integer}")
        return self.body.emit(f"icmp slt {integer} {bits}, {self.lanes.whole(0)}")

    def signed_as_y(self, angle: str) -> str:
        real, integer = self.lanes.real, self.lanes.integer
        bits = self.body.emit(f"bitcast {real} %y to {integer}")
        sign = self.body.emit(f"and {integer} {bits}, {self.lanes.whole(-(2**63))}")
        value = self.body.emit(f"bitcast {real} {angle} to {integer}")
        return self.body.emit(f"bitcast {integer} {self.body.emit(f'or {integer} {value}, {sign}')} to {real}")
