# SPDX-License-Identifier: Apache-2.0
"""The policy of SROS2, enforced: participants of DDS with security can do what it allows, and nothing else."""

import json
import queue
import shutil
import subprocess
import sys
import threading

import pytest
import secure_dds
from sros2_policy import Authority

from benchmarks.ros.domains import own_domain

pytestmark = [
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
    pytest.mark.skipif(
        secure_dds.folder_of_plugins() is None,
        reason="Cyclone DDS with security (Debian's libddsc0debian) is not installed",
    ),
]

COMMANDS, STATES = "rt/joint_commands", "rt/joint_states"
TRUE, FORGED, UNKNOWN = 42, 666, 667
PATIENCE = 60.0  # [s] until participants have found each other; seconds on an idle machine


class Participant:
    """A process of `secure_dds`."""

    def __init__(self, domain, topic, keys, write=None):
        order = {"domain": domain, "topic": topic, "keys": keys} | ({} if write is None else {"write": write})
        self._process = subprocess.Popen(
            [sys.executable, secure_dds.__file__, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.began = self.lines.get(timeout=PATIENCE)

    def _listen(self):
        for line in self._process.stdout:
            self.lines.put(line.strip())

    def end(self):
        self._process.stdin.close()
        self._process.wait(PATIENCE)


@pytest.fixture
def world(tmp_path):
    with own_domain() as domain:
        started = []

        def start(topic, keys, write=None):
            started.append(Participant(domain, topic, keys, write))
            return started[-1]

        yield start, Authority(tmp_path / "keys", domain), Authority(tmp_path / "forged", domain)
        for participant in started:
            participant.end()


def test_commands_of_the_view_arrive_and_those_of_a_forger_and_of_a_stranger_do_not(world):
    start, authority, forger = world
    robot = start(COMMANDS, authority.keys_of("dynamics_node"))
    assert robot.began == "ready"
    for keys, number in ((forger.keys_of("view_node"), FORGED), ({}, UNKNOWN)):
        assert start(COMMANDS, keys, number).began == "ready"
    assert start(COMMANDS, authority.keys_of("view_node"), TRUE).began == "ready"
    for _ in range(60):  # 3 s: the others began earlier
        assert robot.lines.get(timeout=PATIENCE) == str(TRUE)


def test_who_may_not_command_cannot_even_say_that_it_will_and_the_oracle_only_hears_states(world):
    start, authority, _ = world
    assert start(COMMANDS, authority.keys_of("dynamics_node"), FORGED).began == "not allowed"
    oracle = authority.keys_of("oracle_node")
    listening = start(STATES, oracle)
    assert start(STATES, authority.keys_of("dynamics_node"), TRUE).began == "ready"
    assert listening.lines.get(timeout=PATIENCE) == str(TRUE)
    for topic in (STATES, COMMANDS):
        assert start(topic, oracle, FORGED).began == "not allowed"
