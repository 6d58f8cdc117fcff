# SPDX-License-Identifier: Apache-2.0
"""Where Python lacks what only Linux and macOS have: everything can be imported, the library computes and simulates,
and hardware that needs it refuses by name. No Windows is needed to hold this: what it lacks is hidden here.
"""

import subprocess
import sys
import textwrap

HIDE = """
import os, select, socket, sys

HIDDEN = ("fcntl", "termios", "pwd", "resource", "grp", "pty", "tty", "syslog")

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in HIDDEN:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
LACKING = {
    os: ("geteuid", "getuid", "fork", "sched_setscheduler", "sched_getaffinity", "set_blocking", "mkfifo", "nice",
         "setpriority", "killpg", "openpty", "O_NOFOLLOW", "O_CLOEXEC"),
    select: ("poll", "epoll"),
    socket: ("AF_UNIX", "AF_PACKET"),
}
for module, names in LACKING.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""


def run(code, tmp_path):
    """Output of a program on a Python that has none of it."""
    command = [sys.executable, "-c", HIDE + textwrap.dedent(code)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path)
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def test_every_module_can_be_imported(tmp_path):
    found = run(
        """
        import importlib, pkgutil
        count = 0
        for package in ("ada_dynamics", "ada_robot", "ada_controllers", "ada_hardware", "ada_tools", "ada_experiments"):
            for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
                if not module.name.endswith("__main__"):
                    try:
                        importlib.import_module(module.name)
                    except Exception as problem:  # what ROS, or another optional package, is not there for
                        assert not any(name in str(problem) for name in HIDDEN), (module.name, problem)
                    count += 1
        print(count)
        """,
        tmp_path,
    )
    assert int(found) > 500


def test_the_library_computes_keeps_its_kernels_and_simulates(tmp_path):
    found = run(
        """
        import os
        os.environ["ADA_CACHE_DIR"] = os.path.abspath("cache")
        import numpy as np, ada_dynamics as ada
        from ada_controllers import pa10_kinematics
        from ada_dynamics.robots.mechanisms import four_bar
        model, q = four_bar()
        a = ada.Dynamics(model).forward(q, np.zeros(3), np.zeros(3))
        assert abs(a[0] - 1.2 * 9.81 * np.sin(np.pi - q[0])) < 1e-12
        assert len(os.listdir("cache")) > 0
        log = ada.Simulation(model, q).run(0.1)
        log.save("motion.mcap")
        assert pa10_kinematics.forward(np.zeros(7)).shape == (4, 4)
        print(len(ada.Log.load("motion.mcap")))
        """,
        tmp_path,
    )
    assert int(found) == 101
