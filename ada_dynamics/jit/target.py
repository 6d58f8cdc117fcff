# SPDX-License-Identifier: Apache-2.0
"""Compilation targets: processor, vector width, and sizes that bound the generated code."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ada_dynamics.errors import InputError


@dataclass(frozen=True)
class CodeLimits:
    """Sizes that bound generated code and its memory.

    They choose between one function and parts by the number of operations, not by a measurement at first use, so that
    all processes have the same code. docs/performance.md has both forms of the code of some robots: the form that is
    not chosen is at most 3 % faster (8 % for inverse derivatives of arms of 8 joints, in batches). One function for one
    state is 13 % faster than parts at 20 800 operations and 10 % at 36 000, where it takes 2.7 times as long to
    compile; at 56 600 parts are 10 % faster. Code for blocks of states is split from 2800 operations on (1.4 `part`):
    a part must fit into the first-level instruction cache, and code of 2700 operations for AVX2 is 36 kB long.
    """

    registers: int = 25_000  # operations of a function without columns above which values of a state are in memory
    with_columns: int = 2700  # the same of a function with columns
    segment: int = 512  # operations of a segment of a function with columns, whose values are in memory after it
    block_segment: int = 48  # the same of the code for a block of states
    part: int = 2000  # operations of a part of the code for a block of states, up to 27 kB
    huge: int = 100_000  # operations above which batches run state by state
    blocks: int = 16  # blocks of states that are in memory together
    near: int = 1 << 14  # numbers of these blocks; the first two cache levels have buffer for more
    cached: int = 1 << 20  # numbers that fill the caches of a core: more results of batches are written past these
    stack: int = 1 << 15  # numbers of results that are on the stack at a time
    lane_bytes: int = 64 * 2**20  # workspace above which the generic kernel runs batches state by state


@dataclass(frozen=True)
class Target:
    """A processor in LLVM terms.

    Attributes:
        cpu: LLVM name of the processor.
        features: LLVM feature string, "" for the features that `cpu` implies.
        triple: LLVM target triple, "" for the host.
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
    limits: CodeLimits = field(default_factory=CodeLimits)

    @staticmethod
    def host() -> Target:
        """The host, or the more common processor that $ADA_TARGET names (InputError: the host lacks instructions)."""
        return _host()

    @staticmethod
    def named(name: str) -> Target:
        """Target by name: "host", "avx512", "avx2", "sse2" or "aarch64"."""
        if name == "host":
            return Target.host()
        if name not in VARIANTS:
            raise InputError(f"unknown target {name!r}; choose one of {['host', *VARIANTS]}", field="target")
        return VARIANTS[name]

    @property
    def function_attributes(self) -> str:
        """Function attributes, without which LLVM avoids the widest registers of some processors."""
        if self.is_gpu:
            return "nounwind"
        width = f'"prefer-vector-width"="{self.vector_bits}" "min-legal-vector-width"="{self.vector_bits}"'
        return f"nounwind {width}"

    @property
    def is_gpu(self) -> bool:
        """Return True for a GPU, which computes one state per thread."""
        return self.triple == _GPU

    @staticmethod
    def gpu(capability: int) -> Target:
        """GPU target for a compute capability (90 for 9.0); newer devices run code for older ones."""
        known = [number for number in PTX if number <= capability]
        if not known:
            raise InputError(
                f"compute capability {capability // 10}.{capability % 10} is not supported; the minimum is "
                f"{min(PTX) // 10}.{min(PTX) % 10}",
                field="compute capability",
            )
        best = max(known)
        return Target(f"sm_{best}", f"+ptx{PTX[best]}", _GPU, 1, True, 64)

    @property
    def identity(self) -> str:
        """Text that differs for targets with different code."""
        own = f"{self.triple}|{self.cpu}|{self.features}|{self.lanes}|{self.fma}|{self.vector_bits}"
        return f"{own}|{self.limits}"


VARIANTS = {
    "avx512": Target("x86-64-v4", "", "x86_64-unknown-linux-gnu", 8, True, 512),
    "avx2": Target("x86-64-v3", "", "x86_64-unknown-linux-gnu", 4, True, 256),
    "sse2": Target("x86-64", "", "x86_64-unknown-linux-gnu", 2, False, 128),
    "aarch64": Target("generic", "", "aarch64-unknown-linux-gnu", 2, True, 128),
}
_GPU = "nvptx64-nvidia-cuda"
# Compute capabilities from Volta to Blackwell, and the first version of PTX that supports each of them.
PTX = {70: 60, 75: 63, 80: 70, 86: 71, 89: 78, 90: 78, 100: 86, 120: 87}


@lru_cache(maxsize=1)
def _host() -> Target:
    import llvmlite.binding as llvm  # not at module level, because the import is slow

    features = llvm.get_host_cpu_features()
    has = {name for name, present in features.items() if present}
    bits = 512 if {"avx512f", "avx512vl", "avx512dq"} <= has else 256 if "avx2" in has else 128
    fma = "fma" in has or platform.machine().lower() in ("aarch64", "arm64")
    host = Target(llvm.get_host_cpu_name(), features.flatten(), "", bits // 64, fma, bits)
    name = os.environ.get("ADA_TARGET") or "host"
    if name == "host":
        return host
    chosen = Target.named(name)
    is_other = chosen.triple.split("-")[0] != llvm.get_process_triple().split("-")[0]
    if is_other or chosen.vector_bits > bits or chosen.fma > fma:
        raise InputError(f"ADA_TARGET={name}: {host.cpu} lacks these instructions; unset it", field="ADA_TARGET")
    return replace(chosen, triple="")
