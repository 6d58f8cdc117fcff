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
    return preamble(called, target, widths) + "".join(texts)


class _Writer:
    """Writes the entry point of one width."""

    def __init__(self, program: LoopProgram, target: Target, width: int) -> None:
        self.program, self.target, self.lanes = program, target, Lanes(width)
        self.body = Body()
        self.called: set[Call] = set()

    def text(self) -> str:
        names = [f"ptr noalias %{name}" for name in self.program.placed()]
        head = (
            f"define i32 @{entry_point(self.lanes.width)}({_TABLES}, {', '.join(names)}, i64 %n, i64 %states) #0 {{\n"
        )
        body = self.body
        body.label("entry")
        self._states_loop()
        return head + str(body) + "\n}\n"

    def _states_loop(self) -> None:
        """Blocks of `width` states; the last block starts earlier where the states do not fill it."""
        body, width = self.body, self.lanes.width
        body.do("br label %block")
        body.label("block")
        body.do("%first = phi i64 [0, %entry], [%next, %block_end]")
        last = body.emit(f"sub i64 %states, {width}")
        over = body.emit(f"icmp sgt i64 %first, {last}")
        start = body.emit(f"select i1 {over}, i64 {last}, i64 %first")
        self.pointers = {
            name: body.emit(f"getelementptr double, ptr %{name}, i64 {start}") for name in self.program.placed()
        }
        self._base_row()
        for number, one_pass in enumerate(self.program.passes):
            self._pass(number, one_pass)
        body.do("br label %block_end")
        body.label("block_end")
        body.do(f"%next = add i64 %first, {width}")
        more = body.emit("icmp slt i64 %next, %states")
        body.do(f"br i1 {more}, label %block, label %done")
        body.label("done")
        body.do("ret i32 0")

    def _base_row(self) -> None:
        """The world's row of workspace is set anew for each block: the inward passes add to it."""
        body = self.body
        for i in range(self.program.row):
            value = self._spread(body.load("double", "%base", i))
            body.store(self.lanes.real, value, "%work", i * self.lanes.width)

    def _spread(self, scalar: str) -> str:
        """The same number in each lane."""
        return scalar if self.lanes.width == 1 else spread(self.body, self.lanes, scalar)

    def _pass(self, number: int, one_pass: LoopPass) -> None:
        body, name = self.body, f"pass{number}"
        body.do(f"br label %{name}_start")
        body.label(f"{name}_start")
        last = body.emit("sub i64 %n, 1")
        body.do(f"br label %{name}")
        body.label(name)
        begin = "0" if one_pass.outward else last
        body.do(f"%{name}_i = phi i64 [{begin}, %{name}_start], [%{name}_next, %{name}_end]")
        kind_place = body.emit(f"getelementptr i32, ptr %kinds, i64 %{name}_i")
        kind = body.emit(f"load i32, ptr {kind_place}")
        cases = " ".join(f"i32 {i}, label %{name}_kind{i}" for i in range(1, len(one_pass.bodies)))
        body.do(f"switch i32 {kind}, label %{name}_kind0 [{cases}]")
        for i, code in enumerate(one_pass.bodies):
            body.label(f"{name}_kind{i}")
            self._joint(f"%{name}_i", code)
            body.do(f"br label %{name}_end")
        body.label(f"{name}_end")
        body.do(f"%{name}_next = add i64 %{name}_i, {1 if one_pass.outward else -1}")
        end = body.emit(f"icmp slt i64 %{name}_next, %n" if one_pass.outward else f"icmp sge i64 %{name}_next, 0")
        body.do(f"br i1 {end}, label %{name}, label %{name}_exit")
        body.label(f"{name}_exit")

    def _joint(self, i: str, code: LoopBody) -> None:
        """Code of one joint: pointers to its regions, the function's nodes, the stores."""
        body, lanes = self.body, self.lanes
        regions = self._regions(i)

        def load(region: str, position: int) -> str:
            if region == "k":
                return self._spread(body.load("double", regions["k"](0), position))
            return body.load(lanes.real, regions[region](position))

        emitter = Emitter(body, lanes, self.target, load)
        emitter.emit(code.function.nodes())
        self.called |= emitter.called
        for name, (region, offset) in code.stores.items():
            for j, element in enumerate(code.function.outputs[name]):
                body.store(lanes.real, emitter.value(element), regions[region](offset + j))

    def _regions(self, i: str) -> dict[str, Callable[[int], str]]:
        """For each region, a function from a position in it to an address."""
        body, width, row = self.body, self.lanes.width, self.program.row
        parent_place = body.emit(f"getelementptr i32, ptr %parents, i64 {i}")
        parent32 = body.emit(f"load i32, ptr {parent_place}")
        parent = body.emit(f"sext i32 {parent32} to i64")
        constants = body.element("%k", body.emit(f"mul i64 {i}, {self.program.constants}"))
        own, above = (
            body.element("%work", body.emit(f"mul i64 {body.emit(f'add i64 {x}, 1')}, {row * width}"))
            for x in (i, parent)
        )
        places = {}
        for kind in ("q", "v"):
            where = body.emit(f"getelementptr i64, ptr %places_{kind}, i64 {i}")
            places[kind] = body.emit(f"load i64, ptr {where}")

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
