# SPDX-License-Identifier: Apache-2.0
"""Expressions to machine code: kernels for one state and for batches, cached on disk, callable from Python."""

from ada_dynamics.jit.cache import ObjectCache, source_hash
from ada_dynamics.jit.kernel import GuardError, Kernel, KernelInfo
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

__all__ = ["GuardError", "Kernel", "KernelInfo", "ObjectCache", "Signature", "Target", "source_hash"]
