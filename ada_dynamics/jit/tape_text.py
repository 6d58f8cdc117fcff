# SPDX-License-Identifier: Apache-2.0
"""LLVM text of the interpreter of tapes: one function for all tapes, for W states at a time.

    i32 tape_W(runs, words, ends, slots, in, out, i64 inputs, i64 outputs, i64 guards, i64 states)

`in` and `out` hold each element for all states, one element behind the other. The status word is that of all kernels
(see `emit_kernel`).
"""

from __future__ import annotations

from collections.abc import Callable

from ada_dynamics.jit.atan2 import atan2_definition, atan2_name
from ada_dynamics.jit.emit import NotFinite, either, preamble
from ada_dynamics.jit.emit_kernel import GUARD_FAILED, SINGLE_VECTOR_BITS
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.sincos import sincos_definition, sincos_name
from ada_dynamics.jit.tape import FORMATS, NARROW_MULTIPLY_ADD
from ada_dynamics.jit.tape_program import ARCTANGENT, END, MULTIPLY_ADD, RECIPROCAL, SELECTION, SINCOS, SQUARE_ROOT
from ada_dynamics.jit.target import Target

_PARAMETERS = (
    "ptr noalias readonly %runs, ptr noalias readonly %words, ptr noalias readonly %ends, ptr noalias %slots, "
    "ptr noalias readonly %in, ptr noalias %out, i64 %inputs, i64 %outputs, i64 %guards, i64 %states"
)
# Multiply-adds for each turn of their loop.
_UNROLLED = 4


def entry_point(width: int) -> str:
    """Name of the exported function that takes `width` states at a time."""
    return f"tape_{width}"


def interpreter_text(width: int, target: Target) -> str:
    """Text of the interpreter for one width."""
    writer = _Writer(width, target)
    return writer.text() + preamble(writer.called, target, [Lanes(width)])


class _Writer:
    """Writes the function."""

    def __init__(self, width: int, target: Target) -> None:
        self.lanes = Lanes(width)
        self.target = target
        self.body = Body()
        # Angles of one state are taken together, as many as fill a vector.
        self.gathered = min(target.vector_bits, SINGLE_VECTOR_BITS) // 64 if width == 1 else 1
        self.called = {
            (sincos_definition, Lanes(width)),
            (sincos_definition, Lanes(self.gathered * width)),
            (atan2_definition, Lanes(width)),
        }

    def text(self) -> str:
        body, lanes = self.body, self.lanes
        self.bad = body.variable(lanes.real, lanes.number(0.0))  # sum of 0 x of what must be finite
        self.failed = body.variable("i32", "0")  # guards
        self.word, self.run = body.variable("ptr", "%words"), body.variable("ptr", "%runs")
        self.left = body.variable("i64", "0")  # instructions of the run
        with body.in_blocks("%states", lanes.width) as first:
            self._take_inputs(first)
            self._interpret()
            self._give_outputs(first)
            self._check_guards()
        self._return_status()
        return f"define i32 @{entry_point(lanes.width)}({_PARAMETERS}) #0 {{\n{body}\n}}\n"

    # --- around the instructions --------------------------------------------------------------------------------
    def _watch(self, value: str) -> None:
        """Note a value that must be finite."""
        zero = self.body.emit(f"fmul {self.lanes.real} {value}, {self.lanes.number(0.0)}")
        self.bad.update("fadd", zero)

    def _element(self, i: str, first: str) -> str:
        """Offset of element i of state `first` among the inputs or outputs."""
        row = self.body.emit(f"mul i64 {i}, %states")
        return self.body.emit(f"add i64 {row}, {first}")

    def _take_inputs(self, first: str) -> None:
        with self.body.repeat("%inputs") as i:
            value = self.body.load(self.lanes.real, "%in", self._element(i, first))
            self._store(i, value)
            self._watch(value)

    def _give_outputs(self, first: str) -> None:
        with self.body.repeat("%outputs") as i:
            value = self._end(i)
            self.body.store(self.lanes.real, value, "%out", self._element(i, first))
            self._watch(value)

    def _check_guards(self) -> None:
        body, lanes = self.body, self.lanes
        with self.body.repeat("%guards") as i:
            value = self._end(body.emit(f"add i64 {i}, %outputs"))
            # "not (guard >= 0)": true for NaN as well.
            below = body.any_lane(body.emit(f"fcmp ult {lanes.real} {value}, {lanes.number(0.0)}"), lanes)
            flag = body.emit(f"select i1 {below}, i32 {GUARD_FAILED}, i32 0")
            self.failed.update("or", flag)

    def _end(self, i: str) -> str:
        """The value of an output or guard."""
        return self._load(self.body.entry("i64", "%ends", i))

    def _return_status(self) -> None:
        watch = NotFinite(self.body, self.target)
        watch.sums[self.lanes] = self.bad.get()
        low = self.body.emit(f"zext i1 {either(self.body, watch.flags())} to i32")
        status = self.body.emit(f"or i32 {low}, {self.failed.get()}")
        self.body.do(f"ret i32 {status}")

    # --- instructions -------------------------------------------------------------------------------------------
    def _interpret(self) -> None:
        """Runs one after another: a switch for each, then loops over its instructions."""
        body = self.body
        steps: dict[int, tuple[int, Callable[[int], None]]] = {
            NARROW_MULTIPLY_ADD: (_UNROLLED, self._narrow_multiply_adds),
            MULTIPLY_ADD: (_UNROLLED, self._multiply_adds),
            RECIPROCAL: (1, self._reciprocals),
            SQUARE_ROOT: (1, self._square_roots),
            SINCOS: (self.gathered, self._sincos),
            SELECTION: (1, self._selections),
            ARCTANGENT: (1, self._arctangents),
        }
        self.word.set("%words")
        self.run.set("%runs")
        with body.loop(lambda: body.emit(f"icmp ne i64 {body.entry('i64', self.run.get(), 0)}, {END}")):
            run = self.run.get()
            self.left.set(body.entry("i64", run, 1))
            self.run.set(body.element(run, 2, "i64"))
            for kind in body.cases("i64", body.entry("i64", run, 0), steps):
                at_once, step = steps[kind]
                for size in sorted({at_once, 1}, reverse=True):
                    self._turns(FORMATS[kind].words, size, step)

    def _turns(self, words: int, size: int, step: Callable[[int], None]) -> None:
        """Instructions of a run, `size` at a time, as long as so many are left."""
        body = self.body
        with body.loop(lambda: body.emit(f"icmp sge i64 {self.left.get()}, {size}")):
            step(size)
            self.word.set(body.element(self.word.get(), words * size, "i64"))
            self.left.update("sub", str(size))

    def _slots(self, number: int, kind: int) -> list[str]:
        """The slots of instruction `number` from the current word on."""
        body, form = self.body, FORMATS[kind]
        slots = []
        for i in range(form.words):
            word = body.entry("i64", self.word.get(), number * form.words + i)
            for part in range(form.per_word):
                moved = body.emit(f"lshr i64 {word}, {part * form.bits}")
                slots.append(body.emit(f"and i64 {moved}, {2**form.bits - 1}"))
        return slots[: form.slots]

    def _place(self, slot: str) -> str:
        """Offset of a slot's numbers."""
        return self.body.emit(f"mul i64 {slot}, {self.lanes.width}")

    def _load(self, slot: str) -> str:
        return self.body.load(self.lanes.real, "%slots", self._place(slot))

    def _store(self, slot: str, value: str) -> None:
        self.body.store(self.lanes.real, value, "%slots", self._place(slot))

    def _multiply_adds(self, count: int, kind: int = MULTIPLY_ADD) -> None:
        real = self.lanes.real
        for i in range(count):
            result, *operands = self._slots(i, kind)
            x, y, z = map(self._load, operands)
            if self.target.fma:
                value = self.body.emit(f"call {real} @llvm.fma.{self.lanes.suffix}({real} {x}, {real} {y}, {real} {z})")
            else:
                value = self.body.emit(f"fadd {real} {self.body.emit(f'fmul {real} {x}, {y}')}, {z}")
            self._store(result, value)

    def _narrow_multiply_adds(self, count: int) -> None:
        self._multiply_adds(count, NARROW_MULTIPLY_ADD)

    def _reciprocals(self, count: int) -> None:
        for i in range(count):
            result, a = self._slots(i, RECIPROCAL)
            self._store(result, self.body.emit(f"fdiv {self.lanes.real} {self.lanes.number(1.0)}, {self._load(a)}"))

    def _square_roots(self, count: int) -> None:
        real = self.lanes.real
        for i in range(count):
            result, a = self._slots(i, SQUARE_ROOT)
            value = self.body.emit(f"call {real} @llvm.sqrt.{self.lanes.suffix}({real} {self._load(a)})")
            self._store(result, value)

    def _selections(self, count: int) -> None:
        real = self.lanes.real
        for i in range(count):
            result, a, b, x, y = self._slots(i, SELECTION)
            below = self.body.emit(f"fcmp olt {real} {self._load(a)}, {self._load(b)}")
            chosen = f"select {self.lanes.boolean} {below}, {real} {self._load(x)}, {real} {self._load(y)}"
            self._store(result, self.body.emit(chosen))

    def _arctangents(self, count: int) -> None:
        real = self.lanes.real
        for i in range(count):
            result, y, x = self._slots(i, ARCTANGENT)
            angle = f"call {real} {atan2_name(self.lanes)}({real} {self._load(y)}, {real} {self._load(x)})"
            self._store(result, self.body.emit(angle))

    def _sincos(self, count: int) -> None:
        """One angle, or the angles of several instructions in a vector."""
        body, one = self.body, self.lanes
        wide = Lanes(count * one.width)
        slots = [self._slots(i, SINCOS) for i in range(count)]
        angle = self._load(slots[0][2])
        if count > 1:
            angles = [angle, *(self._load(a) for _, _, a in slots[1:])]
            angle = "poison"
            for i, x in enumerate(angles):
                angle = body.emit(f"insertelement {wide.real} {angle}, double {x}, i64 {i}")
        both = body.emit(f"call {wide.pair} {sincos_name(wide)}({wide.real} {angle})")
        sines, cosines = (body.emit(f"extractvalue {wide.pair} {both}, {part}") for part in range(2))
        for i, (sine, cosine, *_) in enumerate(slots):
            # In the order of the instructions: a later one may use the slot of a cosine that nobody needs.
            for slot, values in ((sine, sines), (cosine, cosines)):
                value = body.emit(f"extractelement {wide.real} {values}, i64 {i}") if count > 1 else values
                self._store(slot, value)
                if slot is sine:
                    self._watch(value)
