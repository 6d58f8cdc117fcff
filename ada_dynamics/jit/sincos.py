# SPDX-License-Identifier: Apache-2.0
"""LLVM text of sine and cosine together, without branches: range reduction by pi/2, then two polynomials.

The reduction subtracts n pi/2 with pi/2 held in three parts (fused multiply-add) or five (without it, where the
products with n must be exact); the polynomials are those of fdlibm. Beyond LIMIT, and for NaN, both are NaN.
"""

from __future__ import annotations

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
# Adding this leaves round(x) in the low bits of the sum.
_ROUND = 6755399441055744.0
_PI_2_FUSED = (1.57079632679489655800e00, 6.12323399573676603587e-17, -1.49738490485916983e-33)
# Four parts of 23 bits, whose products with a 30-bit integer are exact, and the rest of pi/2.
_PI_2_SPLIT = tuple(
    float.fromhex(part)
    for part in ("0x1.921fb4p+0", "0x1.4442dp-24", "0x1.84698p-48", "0x1.3198ap-69", "0x1.701b839a25205p-92")
)


def sincos_name(width: int) -> str:
    """Name of the function for `width` lanes."""
    return f"@sincos{width}"


def sincos_definition(width: int, fma: bool) -> str:
    """`{sin, cos} @sincosW(x)` for W lanes, always inlined."""
    lanes = Lanes(width)
    code = _Arithmetic(lanes, fma)
    body = code.body
    shifted = code.multiply_add("%x", lanes.number(_TWO_OVER_PI), lanes.number(_ROUND))
    turns = code.subtract(shifted, lanes.number(_ROUND))
    quadrant = body.emit(f"bitcast {lanes.real} {shifted} to {lanes.integer}")
    rest = code.reduce_fused(turns) if fma else code.reduce_split(turns)
    size = body.emit(f"call {lanes.real} @llvm.fabs.{lanes.suffix}({lanes.real} %x)")
    inside = body.emit(f"fcmp ole {lanes.real} {size}, {lanes.number(LIMIT)}")
    rest = code.choose(inside, rest, lanes.number(float("nan")))
    sine, cosine = code.polynomials(rest)

    low = body.emit(f"and {lanes.integer} {quadrant}, {lanes.whole(1)}")
    even = body.emit(f"icmp eq {lanes.integer} {low}, {lanes.whole(0)}")
    next_quadrant = body.emit(f"add {lanes.integer} {quadrant}, {lanes.whole(1)}")
    sine_out = code.flip_sign(code.choose(even, sine, cosine), quadrant)
    cosine_out = code.flip_sign(code.choose(even, cosine, sine), next_quadrant)
    first = body.emit(f"insertvalue {lanes.pair} undef, {lanes.real} {sine_out}, 0")
    both = body.emit(f"insertvalue {lanes.pair} {first}, {lanes.real} {cosine_out}, 1")
    body.do(f"ret {lanes.pair} {both}")
    return f"define internal {lanes.pair} {sincos_name(width)}({lanes.real} %x) alwaysinline #0 {{\n{body}\n}}\n"


class _Arithmetic(Arithmetic):
    """Steps of sine and cosine."""

    def flip_sign(self, value: str, quadrant: str) -> str:
        """Negate where bit 1 of the quadrant is set."""
        real, integer = self.lanes.real, self.lanes.integer
        moved = self.body.emit(f"shl {integer} {quadrant}, {self.lanes.whole(62)}")
        sign = self.body.emit(f"and {integer} {moved}, {self.lanes.whole(-(2**63))}")
        bits = self.body.emit(f"bitcast {real} {value} to {integer}")
        bits = self.body.emit(f"xor {integer} {bits}, {sign}")
        return self.body.emit(f"bitcast {integer} {bits} to {real}")

    def reduce_fused(self, turns: str) -> str:
        rest = "%x"
        for part in _PI_2_FUSED:
            rest = self.multiply_add(turns, self.lanes.number(-part), rest)
        return rest

    def reduce_split(self, turns: str) -> str:
        """The first two differences are exact; the roundings of the next two are carried along."""
        products = [self.multiply(turns, self.lanes.number(part)) for part in _PI_2_SPLIT]
        rest = self.subtract(self.subtract("%x", products[0]), products[1])
        rest, error = self.exact_difference(rest, products[2])
        rest, error_2 = self.exact_difference(rest, products[3])
        return self.add(rest, self.subtract(self.add(error, error_2), products[4]))

    def polynomials(self, r: str) -> tuple[str, str]:
        """Sine and cosine for |r| <= pi/4."""
        square = self.multiply(r, r)
        sine = self.horner(_SINE, square)
        cube = self.multiply(r, square)
        cosine = self.horner(_COSINE, square)
        return self.multiply_add(sine, cube, r), self.multiply_add(cosine, square, self.lanes.number(1.0))
