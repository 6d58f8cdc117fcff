# SPDX-License-Identifier: Apache-2.0
"""The network between two machines goes out, and comes in again.

Both machines are network namespaces of a world of its own (`unshare --net`), with a virtual cable between them: nothing
of this machine's network is touched. Without rights for that the case is not tried.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.process import EmulatorProcess
from trials.faults.case import HOST, CannotTryError, Case, Outcome
from trials.faults.nodes import INACTIVE, Scene, commanded, told, trial
from trials.graph.graph import Graph

WORLDS = (("unshare", "--net"), ("unshare", "--user", "--map-root-user", "--net"))
"""The first that may be made; in the second one nobody has the priority of real time."""
TOOLS = ("unshare", "nsenter", "ip")
# The two are on one machine, and DDS is to take the cable all the same.
BY_CABLE = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
ENDS = 120.0  # [s]


@dataclass(frozen=True)
class Cable:
    """Between this namespace and that of a process.

    Attributes:
        far: its number.
    """

    far: int

    def lay(self) -> None:
        """Lay it, with both ends up."""
        _ip("link", "set", "lo", "up")
        _ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(self.far))
        _ip("address", "add", "10.0.0.1/24", "dev", "near")
        for words in (("link", "set", "lo", "up"), ("address", "add", "10.0.0.2/24", "dev", "far")):
            _ip(*words, prefix=self.inside)
        self.plug_in()
        _ip("link", "set", "far", "up", prefix=self.inside)
        _ip("route", "add", "224.0.0.0/4", "dev", "far", prefix=self.inside)

    @property
    def inside(self) -> tuple[str, ...]:
        """A command that starts others at the far end."""
        return ("nsenter", "--target", str(self.far), "--net")

    def plug_in(self) -> None:
        """The near end."""
        _ip("link", "set", "near", "up")
        _ip("route", "add", "224.0.0.0/4", "dev", "near")

    def pull_out(self) -> None:
        """The near end."""
        _ip("link", "set", "near", "down")


def _ip(*words: str, prefix: tuple[str, ...] = ()) -> None:
    subprocess.run([*prefix, "ip", *words], check=True)


def _run(seed: int) -> Outcome:
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    allowed = [
        world
        for world in WORLDS
        if not lacking and not subprocess.run([*world, "true"], stderr=subprocess.DEVNULL).returncode
    ]
    if not allowed:
        raise CannotTryError(f"no namespace of its own: {', '.join(lacking) or 'this system does not allow it'}")
    command = [*allowed[0], sys.executable, "-m", "trials.faults.network", str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ENDS)
    except subprocess.TimeoutExpired:
        raise AdaError(f"the two machines did not come to an end within {ENDS:g} s") from None
    if done.returncode:
        raise AdaError(f"the two machines: {done.stderr[-800:]}")
    return Outcome(*json.loads(done.stdout.splitlines()[-1]))


def _inside(seed: int) -> Outcome:
    """In the world of its own."""
    with subprocess.Popen(["unshare", "--net", "--", "cat"], stdin=subprocess.PIPE) as other:  # ends with this process
        try:
            return _trial(Cable(other.pid), seed)
        finally:
            other.kill()


def _trial(cable: Cable, seed: int) -> Outcome:
    cable.lay()

    def start(graph: Graph, device: EmulatorProcess) -> Scene:
        graph.environment = BY_CABLE
        return commanded(commander={"prefix": cable.inside})(graph, device)

    return trial(start, lambda _: cable.pull_out(), told, lambda _: cable.plug_in())(seed)


CASES = (Case("network out, and in again", INACTIVE, HOST, _run),)

if __name__ == "__main__":
    print(json.dumps(_inside(int(sys.argv[1]))))
