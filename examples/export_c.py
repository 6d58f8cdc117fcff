# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of a robot as a C file, compiled with the system's C compiler and compared."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics.export import export_c

model = ada.load("pa10")
dyn = ada.Dynamics(model)

with tempfile.TemporaryDirectory() as folder:
    files = export_c(dyn, "forward", folder, name="pa10_forward")
    print(files.header.read_text().split("*/")[0] + "*/")

    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise SystemExit("There is no C compiler (cc, gcc, clang) here, so the file is not compiled.")
    library = Path(folder, "pa10_forward.so")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", files.source, "-o", library, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).pa10_forward

    q, v = model.random_state(np.random.default_rng(0))  # [rad], [rad/s]
    tau, a = np.ones(model.nv), np.empty(model.nv)  # [N m], [rad/s²]
    status = function(*(ctypes.c_void_p(x.ctypes.data) for x in (q, v, tau, a)))

print(f"status {status}; the same as dyn.forward to {abs(a - dyn.forward(q, v, tau)).max():.1e} rad/s²")
