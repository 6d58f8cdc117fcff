# SPDX-License-Identifier: Apache-2.0
"""LLVM instructions between scalars and the lanes of one state.

A value of k lanes is a vector whose length is the next power of two. Its spare lanes always hold what its first lane
holds, so that they can neither trap nor look out of range.
"""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.expr.per_lane import PerLane
from ada_dynamics.jit.llvm_text import Body, Lanes, double


def padded(lanes: int) -> Lanes:
    """The vector that holds a number of lanes."""
    return Lanes(1 << (lanes - 1).bit_length())


def constant(value: PerLane) -> str:
    """A constant that differs between lanes."""
    width = padded(len(value)).width
    numbers = [*value.values, *[value.values[0]] * (width - len(value))]
    return "<" + ", ".join(f"double {double(x)}" for x in numbers) + ">"


def spread(body: Body, kind: Lanes, scalar: str) -> str:
    """The same scalar in each lane."""
    first = body.emit(f"insertelement {kind.real} poison, double {scalar}, i64 0")
    return body.emit(f"shufflevector {kind.real} {first}, {kind.real} poison, <{kind.width} x i32> zeroinitializer")


def packed(body: Body, kind: Lanes, scalars: Sequence[str]) -> str:
    """Scalars side by side."""
    result = "poison"
    for lane in range(kind.width):
        scalar = scalars[lane if lane < len(scalars) else 0]
        result = body.emit(f"insertelement {kind.real} {result}, double {scalar}, i64 {lane}")
    return result


def extracted(body: Body, kind: Lanes, vector: str, lane: int) -> str:
    """The scalar in one lane."""
    return body.emit(f"extractelement {kind.real} {vector}, i64 {lane}")


def horizontal_sum(body: Body, kind: Lanes, vector: str, lanes: int) -> str:
    """Sum over the first `lanes` lanes, by halves."""
    if lanes < kind.width:
        blank = ", ".join(f"i32 {lane if lane < lanes else kind.width + lane}" for lane in range(kind.width))
        zero = f"{kind.real} zeroinitializer"
        vector = body.emit(f"shufflevector {kind.real} {vector}, {zero}, <{kind.width} x i32> <{blank}>")
    while kind.width > 1:
        half = Lanes(kind.width // 2)
        low, high = (part(body, kind, vector, start, half.width) for start in (0, half.width))
        vector = body.emit(f"fadd {half.real} {low}, {high}")
        kind = half
    return vector


def part(body: Body, kind: Lanes, vector: str, start: int, width: int) -> str:
    """`width` lanes from `start` on."""
    if width == 1:
        return extracted(body, kind, vector, start)
    mask = ", ".join(f"i32 {start + lane}" for lane in range(width))
    return body.emit(f"shufflevector {kind.real} {vector}, {kind.real} poison, <{width} x i32> <{mask}>")


def joined(body: Body, pieces: Sequence[tuple[Lanes, str]]) -> tuple[Lanes, str]:
    """Scalars and vectors, the longest first, one after the other in one vector; spare lanes hold its first one."""
    filled = sum(kind.width for kind, _ in pieces)
    whole = padded(filled)
    if len(pieces) == 1:
        return pieces[0]
    result, start = "poison", 0
    for kind, value in pieces:
        if kind.width == 1:
            result = body.emit(f"insertelement {whole.real} {result}, double {value}, i64 {start}")
        else:
            places = range(-start, whole.width - start)
            wide = _shuffled(body, kind, value, "poison", [p if 0 <= p < kind.width else -1 for p in places], whole)
            blend = [whole.width + lane if start <= lane < start + kind.width else lane for lane in range(whole.width)]
            result = wide if start == 0 else _shuffled(body, whole, result, wide, blend, whole)
        start += kind.width
    if filled < whole.width:
        spare = [lane if lane < filled else 0 for lane in range(whole.width)]
        result = _shuffled(body, whole, result, "poison", spare, whole)
    return whole, result


def _shuffled(body: Body, kind: Lanes, a: str, b: str, lanes: Sequence[int], result: Lanes) -> str:
    mask = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes)
    return body.emit(f"shufflevector {kind.real} {a}, {kind.real} {b}, <{result.width} x i32> <{mask}>")
