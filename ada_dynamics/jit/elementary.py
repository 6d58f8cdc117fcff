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
from ada_dynamics.jit.code_writer import CodeWriter, Value
from ada_dynamics.jit.lowering import Lanes


# --- arithmetic -------------------------------------------------------------------------------------------------------
class Arithmetic(CodeWriter):
    """Instructions without the `contract` flag, so that every rounding is as written."""

    def operand(self, name: str) -> Value:
        """Number in each lane, by the name of an operand."""
        return Value(self.body, self.lanes.real, name, self.lanes)

    def number(self, value: float) -> Value:
        """The constant in each lane."""
        return self.operand(self.lanes.number(value))

    def exact_difference(self, a: Value, b: Value) -> tuple[Value, Value]:
        """a - b rounded, and the rounding error (Knuth's two-sum)."""
        total = a - b
        back = total - a
        return total, (a - (total - back)) - (b + back)

    def horner(self, coefficients: tuple[float, ...], x: Value) -> Value:
        """c0 + x (c1 + x (c2 + ...))."""
        value = self.number(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = self.multiply_add(value, x, self.operand(self.body.constant(self.lanes, coefficient)))
        return value

    def bits(self, value: Value) -> str:
        """The numbers as integers of the same size."""
        return self.body.emit(f"bitcast {self.lanes.real} {value} to {self.lanes.integer}")

    def of_bits(self, bits: str) -> Value:
        """The numbers with these bits."""
        return self.operand(self.body.emit(f"bitcast {self.lanes.integer} {bits} to {self.lanes.real}"))

    def boolean(self, text: str) -> Value:
        """Boolean in each lane, the result of an instruction."""
        return self._value(self.lanes.boolean, text, self.lanes)


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
    body, x = code.body, code.operand("%x")
    shifted = code.multiply_add(x, code.number(_TWO_OVER_PI), code.number(own.round))
    turns = shifted - own.round
    quadrant = code.bits(shifted)
    rest = code.reduce_fused(x, turns, own.fused) if fma else code.reduce_split(x, turns)
    sine, cosine = code.polynomials(code.choose(abs(x) <= own.limit, rest, float("nan")), own)

    low = body.emit(f"and {lanes.integer} {quadrant}, {lanes.whole(1)}")
    even = code.boolean(f"icmp eq {lanes.integer} {low}, {lanes.whole(0)}")
    next_quadrant = body.emit(f"add {lanes.integer} {quadrant}, {lanes.whole(1)}")
    sine_out = code.flip_sign(code.choose(even, sine, cosine), quadrant)
    cosine_out = code.flip_sign(code.choose(even, cosine, sine), next_quadrant)
    first = body.emit(f"insertvalue {lanes.pair} undef, {lanes.real} {sine_out}, 0")
    both = body.emit(f"insertvalue {lanes.pair} {first}, {lanes.real} {cosine_out}, 1")
    body.do(f"ret {lanes.pair} {both}")
    return f"define internal {lanes.pair} {sincos_name(lanes)}({lanes.real} %x) alwaysinline #0 {{\n{body}\n}}\n"


class _SineCosine(Arithmetic):
    """Steps of sine and cosine."""

    def flip_sign(self, value: Value, quadrant: str) -> Value:
        """Negate where bit 1 of the quadrant is set."""
        integer = self.lanes.integer
        moved = self.body.emit(f"shl {integer} {quadrant}, {self.lanes.whole(self.lanes.bits - 2)}")
        sign = self.body.emit(f"and {integer} {moved}, {self.lanes.whole(-(2 ** (self.lanes.bits - 1)))}")
        return self.of_bits(self.body.emit(f"xor {integer} {self.bits(value)}, {sign}"))

    def reduce_fused(self, x: Value, turns: Value, parts: tuple[float, ...]) -> Value:
        for part in parts:
            x = self.multiply_add(turns, self.operand(self.body.constant(self.lanes, -part)), x)
        return x

    def reduce_split(self, x: Value, turns: Value) -> Value:
        """Subtract five parts: the first two differences are exact, the errors of the next two are added at the end."""
        products = [turns * part for part in _PI_2_SPLIT]
        rest, error = self.exact_difference((x - products[0]) - products[1], products[2])
        rest, error_2 = self.exact_difference(rest, products[3])
        result: Value = rest + ((error + error_2) - products[4])
        return result

    def polynomials(self, r: Value, own: _Numbers) -> tuple[Value, Value]:
        """Sine and cosine for |r| <= pi/4."""
        square = r * r
        sine = self.horner(own.sine, square)
        cube = r * square
        cosine = self.horner(own.cosine, square)
        return self.multiply_add(sine, cube, r), self.multiply_add(cosine, square, self.number(1.0))


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
    angle = code.angle(code.operand("%y"), code.operand("%x"))
    real = lanes.real
    head = f"define internal {real} {atan2_name(lanes)}({real} %y, {real} %x) alwaysinline #0"
    return f"{head} {{\n{code.body}\n  ret {real} {angle}\n}}\n"


class _Arctangent(Arithmetic):
    """Steps of the arctangent."""

    def angle(self, y: Value, x: Value) -> Value:
        size_y, size_x = abs(y), abs(x)
        steep = size_y > size_x
        rest, known = self.reduced(self.choose(steep, size_y, size_x), self.choose(steep, size_x, size_y))
        square = rest * rest
        part = self.multiply_add(rest * square, self.horner(_ARCTANGENT, square), rest)

        # Reflection at the diagonal if |y| > |x|: pi / 2 - angle; at the y-axis if x < 0: pi - angle.
        left = self.boolean(f"icmp slt {self.lanes.integer} {self.bits(x)}, {self.lanes.whole(0)}")
        quarters = self.choose(steep, 1.0, self.choose(left, self.number(2.0), 0.0))
        backwards = self.boolean(f"xor {self.lanes.boolean} {steep}, {left}")
        sign = self.choose(backwards, self.number(-1.0), 1.0)
        large, small = (quarters * quarter + sign * angle for quarter, angle in zip(_QUARTER, known, strict=True))
        return self.signed_as(y, large + self.multiply_add(sign, part, small))

    def reduced(self, a: Value, b: Value) -> tuple[Value, tuple[Value, Value]]:
        """t, and atan(k) in two parts."""
        factor = self.choose(a > _LARGE, _SHRINK, self.choose(a < _SMALL, self.number(_GROW), 1.0))
        a, b = a * factor, b * factor
        half, one = (b > a * start for start in (_HALF_ABOVE, _ONE_ABOVE))

        def chosen(at_one: float, at_half: float) -> Value:
            return self.choose(one, at_one, self.choose(half, self.number(at_half), 0.0))

        k = chosen(1.0, 0.5)
        above, below = b - k * a, a + k * b
        rest = above / self.choose(a == 0.0, 1.0, below)  # 0 / 0 would not be a number
        return rest, (chosen(_ATAN_ONE[0], _ATAN_HALF[0]), chosen(_ATAN_ONE[1], _ATAN_HALF[1]))

    def signed_as(self, y: Value, angle: Value) -> Value:
        integer = self.lanes.integer
        sign = self.body.emit(f"and {integer} {self.bits(y)}, {self.lanes.whole(-(2**63))}")
        return self.of_bits(self.body.emit(f"or {integer} {self.bits(angle)}, {sign}"))
