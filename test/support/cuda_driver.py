# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's driver as its reference has it, without a device: for tests of what asks it."""

from __future__ import annotations

import ctypes
import re
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any

from ptx_machine import PtxKernel

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT, INVALID_PTX, NOT_FOUND, ILLEGAL = 1, 2, 201, 218, 500, 700
NAMES = {2: b"CUDA_ERROR_OUT_OF_MEMORY", 218: b"CUDA_ERROR_INVALID_PTX", 700: b"CUDA_ERROR_ILLEGAL_ADDRESS"}
FRESH, GONE = 0xCD, 0xDD  # bytes of memory that nobody wrote, and of memory that was given back
_PLAIN = (c_void_p, c_uint, c_int, c_ubyte, c_size_t, c_uint64, c_char_p)
_OUT = (c_void_p, c_int, c_size_t, c_uint64, c_char_p)
_KINDS = dict(zip("puibnasPINAS", (*_PLAIN, *map(POINTER, _OUT)), strict=True))
# As in the driver's header.
_HEADER = """
    cuInit:u cuDriverGetVersion:I cuDeviceGetCount:I cuDeviceGet:Ii cuDeviceGetName:pii cuDeviceGetAttribute:Iii
    cuDevicePrimaryCtxRetain:Pi cuCtxPushCurrent_v2:p cuCtxPopCurrent_v2:P cuModuleLoadDataEx:PpuIP
    cuModuleGetFunction:Pps cuFuncGetAttribute:Iip cuLaunchKernel:puuuuuuupPP
    cuStreamSynchronize:p cuStreamWaitEvent:ppu cuEventCreate:Pu cuEventRecord:pp cuEventDestroy_v2:p
    cuMemGetInfo_v2:NN cuMemAllocAsync:Anp cuMemFreeAsync:ap
    cuMemcpyHtoDAsync_v2:apnp cuMemcpyDtoHAsync_v2:panp cuMemsetD8Async:abnp cuPointerGetAttribute:pia
    cuGetErrorName:iS cuGetErrorString:iS
"""
_TYPES = dict(one.split(":") for one in _HEADER.split())


@dataclass
class Block:
    """Memory of a device."""

    device: int
    address: int
    size: int
    buffer: Any
    is_live: bool = True


@dataclass
class Cuda:
    """The library: `cuda.cuInit` and so on are C functions."""

    version: int = 12040
    memory: int = 2**30
    devices: int = 2
    blocks: list[Block] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)  # those pushed, the last one is current
    streams: dict[int, list[Any]] = field(default_factory=lambda: {0: []})
    events: dict[int, tuple[int, int]] = field(default_factory=dict)  # stream, and how much of it is before the event
    begun: dict[int, int] = field(default_factory=dict)  # of each stream: pieces of work that are done
    launched: list[tuple[int, int]] = field(default_factory=list)  # groups and their sizes
    fault: str = ""

    def __post_init__(self) -> None:
        self.started = False
        self._objects: dict[int, Any] = {}
        self._number = 0x1000
        for name, letters in _TYPES.items():
            function = getattr(self, "_" + name.removesuffix("_v2"))
            setattr(self, name, ctypes.CFUNCTYPE(c_int, *(_KINDS[x] for x in letters))(self._guarded(name, function)))

    def live(self) -> list[Block]:
        """Memory that nobody has given back yet; what streams still have to do is done first."""
        for stream in self.streams:
            self._finish(stream)
        return [block for block in self.blocks if block.is_live]

    def _guarded(self, name: str, function: Any) -> Any:
        """A C function cannot raise; what needs a context fails without one."""
        free = ("cuInit", "cuDriver", "cuDevice", "cuCtx", "cuGet")

        def called(*arguments: Any) -> int:
            if not name.startswith(("cuDriver", "cuInit", "cuGet")) and not self.started:
                return 3  # not initialized
            if not name.startswith(free) and not self.contexts:
                return INVALID_CONTEXT
            try:
                return function(*arguments) or 0
            except Exception as problem:
                self.fault = f"{name}: {problem!r}"
                return ILLEGAL

        return called

    def _handle(self, thing: Any) -> int:
        self._number += 16
        self._objects[self._number] = thing
        return self._number

    def _cuInit(self, flags: int) -> int:
        self.started = flags == 0
        return 0 if self.started else INVALID_VALUE

    def _cuDriverGetVersion(self, out: Any) -> None:
        out[0] = self.version

    def _cuGetErrorName(self, result: int, out: Any) -> int:
        out[0] = NAMES.get(result, b"")
        return 0 if result in NAMES else INVALID_VALUE

    def _cuGetErrorString(self, result: int, out: Any) -> int:
        out[0] = b"text of %d" % result
        return 0

    def _cuDeviceGetCount(self, out: Any) -> None:
        out[0] = self.devices

    def _cuDeviceGet(self, out: Any, number: int) -> int:
        out[0] = 40 + number
        return 0 if 0 <= number < self.devices else 101

    def _cuDeviceGetName(self, place: int, size: int, device: int) -> None:
        ctypes.memmove(place, b"Paper %d\0" % device, min(size, 9))

    def _cuDeviceGetAttribute(self, out: Any, which: int, device: int) -> int:
        out[0] = {75: 8, 76: 9}.get(which, -1)  # compute capability 8.9
        return 0 if device in (40, 41) else 101

    def _cuDevicePrimaryCtxRetain(self, out: Any, device: int) -> None:
        out[0] = 0xC0 + device

    def _cuCtxPushCurrent(self, context: int) -> None:
        self.contexts.append(context)

    def _cuCtxPopCurrent(self, out: Any) -> None:
        out[0] = self.contexts.pop()

    @property
    def _current(self) -> int:
        return self.contexts[-1] - 0xC0 - 40

    def _cuModuleLoadDataEx(self, out: Any, image: int, count: int, options: Any, values: Any) -> int:
        text = ctypes.string_at(image).decode()
        if ".entry" not in text:
            told = {options[i]: values[i] for i in range(count)}
            ctypes.memmove(told[5], (b"no entry\0")[: told[6]], min(9, told[6]))
            return INVALID_PTX
        out[0] = self._handle(text)
        return 0

    def _cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> int:
        text = self._objects[module]
        head = re.search(rf"\.entry {name.decode()}\((.*?)\)", text, re.DOTALL)
        if head is None:
            return NOT_FOUND
        sizes = [int(x) // 8 for x in re.findall(r"\.param \.[ub](\d+)", head[1].replace(" .ptr", ""))]
        out[0] = self._handle((PtxKernel(text), sizes))
        return 0

    def _cuFuncGetAttribute(self, out: Any, which: int, function: int) -> None:
        out[0] = {4: 77, 3: 24}[which]  # registers, bytes of local memory

    def _cuLaunchKernel(self, function: int, *more: Any) -> int:
        *sizes, shared, stream, places, extra = more
        kernel, widths = self._objects[function]
        if sizes[1:3] + sizes[4:] != [1, 1, 1, 1] or shared or extra or not sizes[0]:
            return INVALID_VALUE
        groups, threads = sizes[0], sizes[3]
        given = [int.from_bytes(ctypes.string_at(places[i], width), "little") for i, width in enumerate(widths)]
        self.launched.append((groups, threads))
        self._ask(stream, lambda: kernel.run(given, groups, threads))
        return 0

    def _ask(self, stream: int | None, work: Any) -> None:
        self.streams[stream or 0].append(work)

    def _finish(self, stream: int, until: int | None = None) -> None:
        """What a stream was asked for, up to a piece of work."""
        work = self.streams[stream]
        while (at := self.begun.get(stream, 0)) < (len(work) if until is None else until):
            self.begun[stream] = at + 1
            work[at]()

    def new_stream(self) -> int:
        """A stream of another library."""
        stream = self._handle(None)
        self.streams[stream] = []
        return stream

    def _cuStreamSynchronize(self, stream: int | None) -> int:
        self._finish(stream or 0)
        return ILLEGAL if self.fault else 0

    def _cuEventCreate(self, out: Any, flags: int) -> None:
        out[0] = event = self._handle(None)
        self.events[event] = (0, 0)

    def _cuEventRecord(self, event: int, stream: int | None) -> None:
        self.events[event] = (stream or 0, len(self.streams[stream or 0]))

    def _cuStreamWaitEvent(self, stream: int | None, event: int, flags: int) -> int:
        other, until = self.events[event]
        self._ask(stream, lambda: self._finish(other, until))
        return INVALID_VALUE if flags else 0

    def _cuEventDestroy(self, event: int) -> None:
        del self.events[event]

    def _used(self, device: int) -> int:
        return sum(block.size for block in self.blocks if block.is_live and block.device == device)

    def _cuMemGetInfo(self, free: Any, total: Any) -> None:
        free[0], total[0] = self.memory - self._used(self._current), self.memory

    def _cuMemAllocAsync(self, out: Any, size: int, stream: int | None) -> int:
        if not size:
            return INVALID_VALUE
        if self._used(self._current) + size > self.memory:
            return OUT_OF_MEMORY
        buffer = ctypes.create_string_buffer(size + 256)
        address = -(-ctypes.addressof(buffer) // 256) * 256
        ctypes.memset(address, FRESH, size)
        self.blocks.append(Block(self._current, address, size, buffer))
        out[0] = address
        return 0

    def _block(self, address: int, size: int) -> Block:
        for block in self.blocks:
            if block.is_live and block.address <= address and address + size <= block.address + block.size:
                return block
        raise ValueError(f"{size} bytes at {address:#x} are in no memory of a device")

    def _cuMemFreeAsync(self, address: int, stream: int | None) -> None:
        block = self._block(address, 1)
        if block.address != address:
            raise ValueError("memory is given back from its middle")

        def gone() -> None:
            block.is_live = False
            ctypes.memset(address, GONE, block.size)

        self._ask(stream, gone)

    def _cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: int | None) -> None:
        self._ask(stream, lambda: self._block(to, size) and ctypes.memmove(to, source, size))

    def _cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: int | None) -> None:
        self._ask(stream, lambda: self._block(source, size) and ctypes.memmove(to, source, size))

    def _cuMemsetD8Async(self, address: int, value: int, size: int, stream: int | None) -> None:
        self._ask(stream, lambda: self._block(address, size) and ctypes.memset(address, value, size))

    def _cuPointerGetAttribute(self, out: int, which: int, address: int) -> int:
        for block in self.blocks:
            if block.is_live and block.address <= address < block.address + block.size:
                c_int.from_address(out).value = block.device if which == 9 else -2  # 9: the device's number
                return 0
        return INVALID_VALUE
