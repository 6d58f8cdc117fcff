# SPDX-License-Identifier: Apache-2.0
"""Code is loaded wherever there is room in the process."""

import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")

# Near the top of its addresses a process with many threads has room for single pages only, and the next larger room
# over 2 GB further down: there the parts of an object must not come apart.
CROWDED = """
import ctypes, mmap
library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
RESERVED = 0x4022  # MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
import numpy as np
import llvmlite.binding
import ada_dynamics as ada
model = ada.load("pa10")
q, v = model.random_state(np.random.default_rng(0))
for _ in range(200):
    pair = library.mmap(None, 2 * mmap.PAGESIZE, 0, RESERVED, -1, 0)
    library.munmap(pair + mmap.PAGESIZE, mmap.PAGESIZE)
    library.mmap(None, 1 << 24, 0, RESERVED, -1, 0)
library.mmap(None, 1 << 33, 0, RESERVED, -1, 0)
dynamics = ada.Dynamics(model)
tau = np.ones(model.nv)
print(abs(dynamics.inverse(q, v, dynamics.forward(q, v, tau)) - tau).max() < 1e-10)
print(np.isfinite(ada.Simulation(model).run(0.05).q).all())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="knows how Linux places what is mapped")
def test_a_process_with_little_room_is_no_hindrance():
    result = subprocess.run([sys.executable, "-c", CROWDED], capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout.split()) == (0, ["True", "True"]), result.stderr[-2000:]
