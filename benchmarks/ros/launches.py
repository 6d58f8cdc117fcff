# SPDX-License-Identifier: Apache-2.0
"""All launch files under the real `ros2 launch`, as a table: `python -m benchmarks.ros.launches [NAME ...]`.

Needs ROS's launch and command line, and the package where `ros2 launch ada_dynamics` finds it. Devices are emulated,
and nothing is shown. Of each: the nodes that came, seconds to the first joint states (or wrench), their rate, the exit
code after SIGINT, and how many of its processes were left.
"""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from ada_robot.processes import ChildProcess
from ada_robot.ros import environment
from ada_tools.bringup import SETUPS, Setup

_COMMAND = "import sys; from ros2cli.cli import main; sys.argv[0] = 'ros2'; sys.exit(main())"
_WANTED = {"view": "false", "rviz": "false", "oracle": "true", "backend": "emulator"}
_PATIENCE = 90.0  # [s] for the first message
_WATCHED = 5.0  # [s]
_STARTED = re.compile(r"\[(\w+)-\d+\]: process started with pid \[(\d+)\]")


class Row(NamedTuple):
    """What came of a launch file."""

    name: str
    nodes: str
    topic: str
    first: float  # [s]
    rate: float  # [Hz]
    code: int
    left: int

    @property
    def cells(self) -> tuple[str, ...]:
        """As text."""
        numbers = f"{self.first:.1f} s", f"{self.rate:.0f} Hz", str(self.code), str(self.left)
        return f"`{self.name}`", self.nodes, self.topic, *numbers


class _Launch(ChildProcess):
    """A running launch file, and what it writes."""

    def __init__(self, setup: Setup) -> None:
        names = {argument.name for argument in setup.arguments}
        words = [f"{name}:={value}" for name, value in _WANTED.items() if name in names]
        command = [sys.executable, "-c", _COMMAND, "launch", "ada_dynamics", setup.launch_file, *words]
        self.lines: list[str] = []
        super().__init__(
            ["env", "--default-signal=INT", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**environment.child_environment(), "PYTHONUNBUFFERED": "1"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        self.lines.extend(self.popen.stdout)

    @property
    def started(self) -> list[tuple[str, int]]:
        """Its processes."""
        return [(found[1], int(found[2])) for line in list(self.lines) if (found := _STARTED.search(line))]

    def end(self) -> int:
        """The exit code after SIGINT."""
        self.send(signal.SIGINT)
        code = self.popen.wait(60.0)
        self._reader.join(1.0)
        return code


def measure(setup: Setup) -> Row:
    """Start a launch file, listen, and end it."""
    import rclpy
    from geometry_msgs.msg import WrenchStamped
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    topic, kind = ("wrench", WrenchStamped) if setup.name == "ft_sensor" else ("joint_states", JointState)
    context: Any = Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node("launch_table", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    came: list[float] = []
    node.create_subscription(kind, topic, lambda _: came.append(time.monotonic()), 1000, raw=True)
    begin = time.monotonic()
    launch = _Launch(setup)
    try:
        while not came and launch.popen.poll() is None and time.monotonic() < begin + _PATIENCE:
            executor.spin_once(timeout_sec=0.1)
        end = time.monotonic() + _WATCHED
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)
        names = set(node.get_node_names()) - {"launch_table"}
        nodes = ", ".join(sorted(name for name in names if not name.startswith("launch_ros_")))
    finally:
        code = launch.end()
        executor.shutdown()
        rclpy.try_shutdown(context=context)
    rate = (len(came) - 1) / (came[-1] - came[0]) if len(came) > 1 else 0.0
    remaining = sum(Path(f"/proc/{pid}").exists() for _, pid in launch.started)
    if not came:
        print("".join(launch.lines), file=sys.stderr)
    return Row(setup.name, nodes, topic, came[0] - begin if came else float("nan"), rate, code, remaining)


def main(names: list[str]) -> int:
    """Print the table; 1 where something is not as it should be, 2 where nothing can be tried."""
    lacking = [name for name in ("ros2launch", "launch_ros", "rclpy") if importlib.util.find_spec(name) is None]
    if lacking:
        print(f"nothing tried: {', '.join(lacking)} cannot be imported", file=sys.stderr)
        return 2
    environment.prepare()
    head = ("launch file", "nodes", "topic", "first message", "rate", "exit code", "processes left")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    rows = []
    for name in names or SETUPS:
        rows.append(measure(SETUPS[name]))
        print(f"| {' | '.join(rows[-1].cells)} |", flush=True)
    return int(any(row.code or row.left or not row.rate for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
