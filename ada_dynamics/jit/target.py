# SPDX-License-Identifier: Apache-2.0
"""The processor that code is made for, and the number of states it works on at once."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from functools import lru_cache

from ada_dynamics.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Sizes that bound generated code and its memory."""

    part: int = 2700  # operations of one function of the code for a block of states, some 25 kB
    blocks: int = 8  # of states, that are laid out together
    near: int = 1 << 14  # numbers of all these blocks, of which the nearest two caches have room for more
    stack: int = 1 << 15  # numbers of results that are laid out on the stack at a time
    lane_bytes: int = 64 * 2**20  # workspace above which a batch runs state by state: lanes would multiply it
    column_numbers: int = 2**19  # of a batch, that a tape lays out in columns at a time
    thread_part: int = 4000  # operations of one function of a kernel of threads
    registers: tuple[int, int] = (106, 214)  # of a thread for numbers of 64 and 32 bits; other things use the rest
    written_out: int = 12_000  # operations of columns, up to which a kernel of threads has no loop over them
    columns: int = 4  # that such a loop computes at once, at most
    fast_bytes: int | None = None  # fast memory of a thread; where None, that of the processor


@dataclass(frozen=True)
class Target:
    """A processor in LLVM's words.

    Attributes:
        cpu: LLVM name of the processor.
        features: LLVM feature string, "" for what `cpu` implies.
        triple: LLVM target triple, "" for the machine at hand.
        lanes: doubles in one vector of the batch kernels.
        fma: whether a fused multiply-add is one instruction.
        vector_bits: width of the widest vector register.
        limits: sizes of code and memory.
    """

    cpu: str
    features: str
    triple: str
    lanes: int
    fma: bool
    vector_bits: int
    limits: Limits = field(default_factory=Limits)

    @staticmethod
    def host() -> Target:
        """The machine at hand."""
        return _host()

    @staticmethod
    def named(name: str) -> Target:
        """One of the documented variants: "host", "avx512", "avx2", "sse2" or "aarch64"."""
        if name == "host":
            return Target.host()
        if name not in VARIANTS:
            raise InputError(f"there is no target {name!r}; choose one of {['host', *VARIANTS]}", field="target")
        return VARIANTS[name]

    @property
    def function_attributes(self) -> str:
        """Attributes of every function: without them LLVM avoids the widest registers on some processors."""
        if self.is_gpu:
            return "nounwind"
        width = f'"prefer-vector-width"="{self.vector_bits}" "min-legal-vector-width"="{self.vector_bits}"'
        return f"nounwind {width}"

    @property
    def is_gpu(self) -> bool:
        """True if it runs one state in each of many threads."""
        return self.triple == _GPU

    @staticmethod
    def gpu(capability: int) -> Target:
        """A graphics processor by its compute capability, 90 for 9.0; newer ones run code for older ones."""
        known = [number for number in PTX if number <= capability]
        if not known:
            raise InputError(
                f"compute capability {capability // 10}.{capability % 10} is too old; the oldest that can be used is "
                f"{min(PTX) // 10}.{min(PTX) % 10}.",
                field="compute capability",
            )
        best = max(known)
        return Target(f"sm_{best}", f"+ptx{PTX[best]}", _GPU, 1, True, 64)

    @property
    def fast_bytes(self) -> int:
        """Memory as near as registers that a thread has for itself, with as many threads as registers allow.

        Elsewhere it is what the newest graphics processors have: kernels of threads are then the same text.
        """
        own = self.limits.fast_bytes
        return _FAST.get(self.cpu, max(_FAST.values())) if own is None else own

    def registers(self, bits: int) -> int:
        """Registers of a thread for numbers of 64 or 32 bits."""
        return self.limits.registers[bits == 32]

    @property
    def identity(self) -> str:
        """Text that differs for any two targets whose code differs."""
        own = f"{self.triple}|{self.cpu}|{self.features}|{self.lanes}|{self.fma}|{self.vector_bits}"
        return f"{own}|{self.limits}"


VARIANTS = {
    "avx512": Target("x86-64-v4", "", "x86_64-unknown-linux-gnu", 8, True, 512),
    "avx2": Target("x86-64-v3", "", "x86_64-unknown-linux-gnu", 4, True, 256),
    "sse2": Target("x86-64", "", "x86_64-unknown-linux-gnu", 2, False, 128),
    "aarch64": Target("generic", "", "aarch64-unknown-linux-gnu", 2, True, 128),
}
_GPU = "nvptx64-nvidia-cuda"
# Compute capabilities from Volta to Blackwell, and the oldest version of PTX that knows them: any driver that runs the
# device reads it.
PTX = {70: 60, 75: 63, 80: 70, 86: 71, 89: 78, 90: 78, 100: 86, 120: 87}
# Shared memory [byte] for each of 256 threads of a multiprocessor, 64 in a group; a group has at most 48 KiB by itself.
_FAST = {
    "sm_70": 368,
    "sm_75": 240,
    "sm_80": 640,
    "sm_86": 384,
    "sm_89": 384,
    "sm_90": 768,
    "sm_100": 768,
    "sm_120": 384,
}


@lru_cache(maxsize=1)
def _host() -> Target:
    import llvmlite.binding as llvm  # here, not above: importing this package must stay cheap

    features = llvm.get_host_cpu_features()
    has = {name for name, present in features.items() if present}
    bits = 512 if {"avx512f", "avx512vl", "avx512dq"} <= has else 256 if "avx2" in has else 128
    fma = "fma" in has or platform.machine().lower() in ("aarch64", "arm64")
    return Target(llvm.get_host_cpu_name(), features.flatten(), "", bits // 64, fma, bits)
