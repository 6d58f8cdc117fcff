# SPDX-License-Identifier: Apache-2.0
"""Runs PTX as its specification has it, thread after thread, in the memory of this process: for tests."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import re
import struct

_LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
_LIBM.fma.argtypes, _LIBM.fma.restype = [ctypes.c_double] * 3, ctypes.c_double
_LIBM.fmaf.argtypes, _LIBM.fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float
_REAL = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}
_INSTRUCTION = re.compile(r"^\t(?:@(%p\d+) )?([a-z][\w.]*)(?:\s+(.*))?;$")


def _real(bits: int, kind: str) -> float:
    real, whole = _REAL[kind]
    return struct.unpack(real, struct.pack(whole, bits))[0]


def _bits(value: float, kind: str) -> int:
    real, whole = _REAL[kind]
    if kind == "f32":
        value = ctypes.c_float(value).value
    return struct.unpack(whole, struct.pack(real, value))[0]


def _signed(value: int, bits: int) -> int:
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def _divided(a: float, b: float) -> float:
    if b == 0.0:
        return math.nan if a == 0.0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


# Of two floats, each rounded once: what a double rounds first, a float rounds to the same (53 >= 2 24 + 2 bits).
_ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "sqrt": lambda a: math.sqrt(a) if a >= 0.0 else math.nan,
    "rcp": lambda a: _divided(1.0, a),
    "div": _divided,
}
_COMPARED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "ltu": lambda a, b: not a >= b,
    "nan": lambda a, b: a != a or b != b,
    "num": lambda a, b: a == a and b == b,
}
_WHOLE = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "mad": lambda a, b, c: a * b + c,
}


class _Memory:
    """Bytes at an address that is as round as code may take for granted, which adds to it with `or`."""

    ROUND = 256

    def __init__(self, data: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(len(data) + self.ROUND)
        self.address = -(-ctypes.addressof(self._buffer) // self.ROUND) * self.ROUND
        ctypes.memmove(self.address, data, len(data))


class PtxKernel:
    """A kernel with the functions that it calls; its arguments are numbers, addresses among them."""

    def __init__(self, text: str) -> None:
        texts = re.findall(
            r"^\.(?:func|visible \.entry) (?:[^\n]*\) )?(\w+)\(\n.*?^\{(.*?)^\}", text, re.MULTILINE | re.DOTALL
        )
        self.functions = {name: _Function(body) for name, body in texts}
        *_, (self.entry, _) = texts
        shared = re.findall(r"\.shared \.align \d+ \.b8 (\w+)\[(\d+)\];", text)
        self.shared = {name: int(size) for name, size in shared}
        tables = re.findall(r"\.const \.align \d+ \.b8 (\w+)\[\d+\] = \{([^}]*)\};", text)
        self._tables = {name: _Memory(bytes(map(int, data.split(",")))) for name, data in tables}
        self.tables = {name: memory.address for name, memory in self._tables.items()}

    def run(self, arguments: list[int], groups: int, size: int) -> None:
        for group in range(groups):
            memory = {name: _Memory(bytes(size)) for name, size in self.shared.items()}
            shared = {name: one.address for name, one in memory.items()}
            for thread in range(size):
                special = {"%tid.x": thread, "%ctaid.x": group, "%ntid.x": size}
                _Call(self, self.entry, arguments, special | shared | self.tables).run()


class _Function:
    def __init__(self, body: str) -> None:
        self.code: list[tuple[str, list[str], list[str]]] = []
        self.labels: dict[str, int] = {}
        self.local = {name: int(size) for name, size in re.findall(r"\.local .*? \.b8\s+(\w+)\[(\d+)\];", body)}
        for line in body.splitlines():
            if label := re.match(r"^(\$\w+):", line):
                self.labels[label[1]] = len(self.code)
            elif (found := _INSTRUCTION.match(line)) and not found[2].startswith("."):
                operands = [x.strip(" ()") for x in (found[3] or "").split(",")]
                self.code.append((found[1] or "", found[2].split("."), operands))


class _Call:
    """A function at work: registers, memory and special values by their names."""

    def __init__(self, kernel: PtxKernel, name: str, arguments: list[int], special: dict[str, int]) -> None:
        self.kernel, self.function, self.special = kernel, kernel.functions[name], special
        self.registers, self.arguments, self.result = dict(special), arguments, 0
        self._own = {name: _Memory(bytes(size)) for name, size in self.function.local.items()}
        self.registers |= {name: memory.address for name, memory in self._own.items()}

    def run(self) -> int:
        at = 0
        while True:
            predicate, words, operands = self.function.code[at]
            at += 1
            if predicate and not self.registers[predicate]:
                continue
            if words[0] == "ret":
                return self.result
            if words[0] == "bra":
                at = self.function.labels[operands[-1]]
            elif words[0] == "call":
                result, name, *given = operands
                called = _Call(self.kernel, name, [self.registers[x] for x in given], self.special)
                self.registers[result] = called.run()
            else:
                self._do(words, operands)

    def _value(self, operand: str) -> int:
        if operand in self.registers:
            return self.registers[operand]
        return int(operand[2:], 16) if operand[:2] in ("0f", "0d") else int(operand)

    def _place(self, operand: str) -> int:
        register, _, offset = operand.strip("[]").partition("+")
        return self.registers[register] + int(offset or 0)

    def _do(self, words: list[str], operands: list[str]) -> None:
        name, kind = words[0], words[-1]
        if name in ("ld", "st", "atom"):
            self._memory(words, operands)
            return
        values = [self._value(x) for x in operands[1:]]
        self.registers[operands[0]] = self._result(words, name, kind, values)

    def _result(self, words: list[str], name: str, kind: str, values: list[int]) -> int:
        if name in ("mov", "cvta"):
            return values[0]
        if name == "selp":
            return values[0] if values[2] else values[1]
        if name == "setp":
            if kind in _REAL:
                return _COMPARED[words[1]](*(_real(x, kind) for x in values))
            return _COMPARED[words[1]](*values)
        if kind in _REAL:
            numbers = [_real(x, kind) for x in values]
            if name == "cvt":
                return _bits(numbers[0], words[-2])
            if name == "fma":
                return _bits((_LIBM.fma if kind == "f64" else _LIBM.fmaf)(*numbers), kind)
            return _bits(_ARITHMETIC[name](*numbers), kind)
        wide = 1 if kind == "pred" else int(kind[1:])
        if name == "cvt":
            source = int(kind[1:])
            value = _signed(values[0], source) if kind[0] == "s" else values[0]
            return value & (2 ** int(words[1][1:]) - 1)
        if name == "min":
            return min(values, key=lambda x: _signed(x, wide))
        if words[1] == "wide":
            return _WHOLE[name](*(_signed(x, wide) for x in values)) & (2 ** (2 * wide) - 1)
        return _WHOLE[name](*values) & (2**wide - 1)

    def _memory(self, words: list[str], operands: list[str]) -> None:
        size = int(words[-1][1:]) // 8
        if words[1] == "param":
            self._parameter(words[0], *(x.strip("[]") for x in operands), 2 ** (8 * size) - 1)
        elif words[0] == "ld":
            self.registers[operands[0]] = int.from_bytes(ctypes.string_at(self._place(operands[1]), size), "little")
        elif words[0] == "st":
            value = self._value(operands[1]) & (2 ** (8 * size) - 1)
            ctypes.memmove(self._place(operands[0]), value.to_bytes(size, "little"), size)
        else:
            place = self._place(operands[1])
            before = int.from_bytes(ctypes.string_at(place, size), "little")
            self.registers[operands[0]] = before
            after = _WHOLE[words[2]](before, self._value(operands[2]))
            ctypes.memmove(place, after.to_bytes(size, "little"), size)

    def _parameter(self, word: str, to: str, source: str, mask: int) -> None:
        """Arguments of this function, and of one that it calls: `param0`, and its result `retval0`."""
        if to == "func_retval0":
            self.result = self._value(source) & mask
        elif "_param_" in source:
            self.registers[to] = self.arguments[int(source.rpartition("_")[2])] & mask
        else:
            self.registers[to] = self._value(source) & mask
