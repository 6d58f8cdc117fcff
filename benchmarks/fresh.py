# SPDX-License-Identifier: Apache-2.0
"""Run in a process of its own: how long the first use of the library takes there. Prints JSON.

Seconds are processor time, as in the other benchmarks.
"""

# ruff: noqa: E402 - the order of the imports is what is measured

import json
import sys
from time import process_time

from ada_dynamics.dynamics.front import kernel_of

START = process_time()
import ada_dynamics as ada

IMPORTED = process_time()


def main(robot: str, warm: bool) -> dict[str, float]:
    """Seconds for each step up to the first result; `warm`: LLVM and the cache have been used before."""
    import numpy as np

    from ada_dynamics.jit import Kernel
    from ada_dynamics.robots import mechanisms
    from benchmarks import robots

    if warm:
        _use_llvm()
    if robot == "stewart":
        model, pose = mechanisms.stewart()
        states = np.tile(pose, (64, 1)), np.zeros((64, model.nv)), np.ones((64, model.nv))
    else:
        model = {"pa10": robots.pa10, "humanoid": robots.humanoid}[robot]().model()
        states = robots.random_states(model, 64)
    q, v, tau = (np.ascontiguousarray(x[0]) for x in states)
    begun = process_time()
    dynamics = ada.Dynamics(model)
    kernel = kernel_of(dynamics, "forward")
    assert isinstance(kernel, Kernel)
    made = process_time()
    kernel.single(q, v, tau)
    single = process_time()
    dynamics.forward(q, v, tau)
    called = process_time()
    kernel.batch(*states)
    batch = process_time()
    return {
        "import": IMPORTED - START,
        "single": single - made,
        "batch": batch - called,
        "first result": called - begun,
        "import to result": called - START,
        "cached": float(all(kernel.info().cached.values())),
    }


def _use_llvm() -> None:
    """Compile something small first, so that the start of LLVM itself is not counted."""
    import numpy as np

    from ada_dynamics.expr import trace
    from ada_dynamics.jit import Kernel, Signature

    function = trace("warm_up", {"x": 1}, lambda x: {"y": (x[0] + 1.0,)})
    Kernel(Signature.of(function), lambda: function, "benchmarks warm up").single(np.zeros(1))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2] == "warm")))
