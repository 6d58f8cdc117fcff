# SPDX-License-Identifier: Apache-2.0
"""LLVM text of sine and cosine together, without branches: range reduction by pi/2, then two polynomials.

The reduction subtracts n pi/2 with pi/2 held in three parts (fused multiply-add) or five (without it, where the
products with n must be exact); the polynomials are those of fdlibm, for floats those of its single-precision functions
as FreeBSD has them. Beyond the limit, and for NaN, both are NaN.
"""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.errors import CompileError
from ada_dynamics.jit.arithmetic import Arithmetic
from ada_dynamics.jit.llvm_text import Lanes

# |angle| [rad] up to which n fits in the 30 bits that the reduction without fused multiply-add allows.
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
# Four parts of 23 bits, whose products with a 30-bit integer are exact, and the rest of pi/2.
_PI_2_SPLIT = tuple(
    float.fromhex(part)
    for part in ("0x1.921fb4p+0", "0x1.4442dp-24", "0x1.84698p-48", "0x1.3198ap-69", "0x1.701b839a25205p-92")
)


class _Numbers(NamedTuple):
    """Constants of a precision."""

    limit: float
    round: float  # adding this leaves round(x) in the low bits of the sum
    fused: tuple[float, ...]  # parts of pi/2
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


_DOUBLE = _Numbers(LIMIT, 6755399441055744.0, _PI_2_FUSED, _SINE, _COSINE)
# n has 22 bits, and errs by no more than 0.01 turns before it is rounded.
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
        raise CompileError("sines in single precision need a processor with fused multiply-add")
    own = _DOUBLE if lanes.bits == 64 else _FLOAT
    code = _Arithmetic(lanes, fma)
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


class _Arithmetic(Arithmetic):
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
        """The first two differences are exact; the roundings of the next two are carried along."""
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
