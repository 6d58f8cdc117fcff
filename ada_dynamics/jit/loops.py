# SPDX-License-Identifier: Apache-2.0
"""Loop kernels: passes over the joints of a tree, with one body of code per joint type.

The robot is data: kind and parent of each joint, where its variables are, and a row of constants. Variables of the
bodies' functions come from regions: "k" (constants), "own" and "parent" (workspace rows), and the arguments ("q", "v",
...) from the joint's place on. Arguments are laid out component by component, each over all states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ada_dynamics.expr.function import Function
from ada_dynamics.jit.emit import Call, Emitter, preamble
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lanes import spread
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.target import Target

# Where a joint's part of an argument starts: at its place among the positions or velocities, or at so many numbers per
# joint.
Place = Literal["q", "v"] | int


@dataclass(frozen=True)
class LoopBody:
    """Code for one joint type in one pass; each output goes to a region and an offset in it."""

    function: Function
    stores: Mapping[str, tuple[str, int]]


@dataclass(frozen=True)
class LoopPass:
    """One pass over all joints, from the base outward or from the leaves inward; a body per kind."""

    outward: bool
    bodies: tuple[LoopBody, ...]


@dataclass(frozen=True)
class LoopProgram:
    """Passes that run one after another."""

    name: str
    passes: tuple[LoopPass, ...]
    constants: int  # doubles in a row of constants
    row: int  # numbers in a row of workspace
    arguments: Mapping[str, Place]
    result: Place = "v"

    def placed(self) -> dict[str, Place]:
        """The arguments and the result, in the order of the entry point."""
        return {**self.arguments, "out": self.result}


# Arguments of the exported function, in order; the program's own arguments follow.
_TABLES = "ptr %kinds, ptr %parents, ptr %places_q, ptr %places_v, ptr noalias %k, ptr noalias %base, ptr noalias %work"


def entry_point(width: int) -> str:
    """Name of the exported function that takes `width` states at a time."""
    return f"loop_{width}"


def loop_text(program: LoopProgram, target: Target, widths: Sequence[int]) -> str:
    """LLVM text with an entry point per width: `loop_W(tables..., arguments..., out, joints, states)`."""
    writers = [_Writer(program, target, width) for width in widths]
    texts = [writer.text() for writer in writers]
    called = {call for writer in writers for call in writer.called}
    return preamble(called, target, map(Lanes, widths)) + "".join(texts)


class _Writer:
    """Writes the entry point of one width."""

    def __init__(self, program: LoopProgram, target: Target, width: int) -> None:
        self.program, self.target, self.lanes = program, target, Lanes(width)
        self.body = Body()
        self.called: set[Call] = set()

    def text(self) -> str:
        body = self.body
        with body.in_blocks("%states", self.lanes.width) as first:
            self.pointers = {name: body.element(f"%{name}", first) for name in self.program.placed()}
            self._base_row()
            for one_pass in self.program.passes:
                self._pass(one_pass)
        body.do("ret i32 0")
        names = ", ".join(f"ptr noalias %{name}" for name in self.program.placed())
        head = f"define i32 @{entry_point(self.lanes.width)}({_TABLES}, {names}, i64 %n, i64 %states) #0"
        return f"{head} {{\n{body}\n}}\n"

    def _base_row(self) -> None:
        """The world's row of workspace is set anew for each block: the inward passes add to it."""
        body = self.body
        for i in range(self.program.row):
            value = self._spread(body.load("double", "%base", i))
            body.store(self.lanes.real, value, "%work", i * self.lanes.width)

    def _spread(self, scalar: str) -> str:
        """The same number in each lane."""
        return scalar if self.lanes.width == 1 else spread(self.body, self.lanes, scalar)

    def _pass(self, one_pass: LoopPass) -> None:
        body = self.body
        last = body.emit("sub i64 %n, 1")
        with body.repeat("%n") as turn:
            i = turn if one_pass.outward else body.emit(f"sub i64 {last}, {turn}")
            kind = body.entry("i32", "%kinds", i)
            for number in body.cases("i32", kind, range(len(one_pass.bodies))):
                self._joint(i, one_pass.bodies[number])

    def _joint(self, i: str, code: LoopBody) -> None:
        """Code of one joint: pointers to its regions, the function's nodes, the stores."""
        body, lanes = self.body, self.lanes
        regions = self._regions(i)

        def load(region: str, position: int) -> str:
            if region == "k":
                return self._spread(body.load("double", regions["k"](0), position))
            return body.load(lanes.real, regions[region](position))

        emitter = Emitter(body, lanes, self.target, load)
        function = fused(code.function)
        emitter.emit(function.nodes())
        self.called |= emitter.called
        for name, (region, offset) in code.stores.items():
            for j, element in enumerate(function.outputs[name]):
                body.store(lanes.real, emitter.value(element), regions[region](offset + j))

    def _regions(self, i: str) -> dict[str, Callable[[int], str]]:
        """For each region, a function from a position in it to an address."""
        body, width, row = self.body, self.lanes.width, self.program.row
        parent = body.emit(f"sext i32 {body.entry('i32', '%parents', i)} to i64")
        constants = body.element("%k", body.emit(f"mul i64 {i}, {self.program.constants}"))
        own, above = (
            body.element("%work", body.emit(f"mul i64 {body.emit(f'add i64 {x}, 1')}, {row * width}"))
            for x in (i, parent)
        )
        places = {kind: body.entry("i64", f"%places_{kind}", i) for kind in ("q", "v")}

        def argument(pointer: str, where: Place) -> Callable[[int], str]:
            place = body.emit(f"mul i64 {i}, {where}") if isinstance(where, int) else places[where]

            def address(position: int) -> str:
                component = body.emit(f"add i64 {place}, {position}") if position else place
                offset = body.emit(f"mul i64 {component}, %states")
                return body.element(pointer, offset)

            return address

        regions: dict[str, Callable[[int], str]] = {
            "k": lambda position: constants,
            "own": lambda position: body.element(own, position * width),
            "parent": lambda position: body.element(above, position * width),
        }
        return regions | {name: argument(self.pointers[name], where) for name, where in self.program.placed().items()}
