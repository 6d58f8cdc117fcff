# SPDX-License-Identifier: Apache-2.0
"""Kernels among processes and threads: one cache for all, code where there is little room, the interpreter's lock."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from jit_examples import kernel_of
from paths import SUPPORT
from waiting import LIMIT, ended, until

from ada_dynamics.expr import sin, trace

SAME = f"""
import sys; sys.path.insert(0, {str(SUPPORT)!r})
from jit_examples import kernel_of, square, states
for _ in range(5):
    print(kernel_of(square()).batch(*states(square(), 3)).tolist())
"""


def test_processes_that_compile_the_same_kernel_at_once_all_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path / "objects"))
    workers = [subprocess.Popen([sys.executable, "-c", SAME], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    results = [ended(worker, 2.0 * LIMIT)[0].splitlines() for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    assert [len(lines) for lines in results] == [5] * 4
    assert len({line for lines in results for line in lines}) == 1
    assert len(list((tmp_path / "objects").iterdir())) == 1, "nothing is left of what was being written"


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
    worker = subprocess.Popen(
        [sys.executable, "-c", CROWDED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    output, errors = ended(worker, 2.0 * LIMIT)
    assert (worker.returncode, output.split()) == (0, ["True", "True"]), errors[-2000:]


def test_importing_the_package_does_not_import_llvmlite():
    code = "import sys, ada_dynamics.jit; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_batch_releases_the_interpreter_lock():

    def chain(q):
        x = q[0]
        for _ in range(60):
            x = sin(x) + 1.0
        return {"y": (x,)}

    kernel, q = kernel_of(trace("f", {"q": 1}, chain)), np.zeros((400_000, 1))
    kernel.batch(q[:8])
    stop, turns = threading.Event(), [0]

    def watch():
        while not stop.wait(0.0):
            turns[0] += 1

    def turns_meanwhile():
        before = turns[0]
        kernel.batch(q)
        return turns[0] - before

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        until(lambda: turns_meanwhile() > 10, "turns of the other thread")
    finally:
        stop.set()
        watcher.join()
