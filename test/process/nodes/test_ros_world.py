# SPDX-License-Identifier: Apache-2.0
"""The world that the other ROS tests live in (ros_world.py)."""

from __future__ import annotations

import itertools
import signal
import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

from std_msgs.msg import String  # noqa: E402

from benchmarks.ros import domains  # noqa: E402
from benchmarks.ros.domains import own_domain  # noqa: E402


def test_two_worlds_have_different_domains_and_do_not_hear_each_other(ros, other):
    assert ros.domain != other.domain
    here, there = ros.collect(String, "words"), other.collect(String, "words")
    publisher = ros.matched(ros.publisher(String, "words"))
    publisher.publish(String(data="hello"))
    ros.wait(lambda: here, what="the word")
    assert publisher.get_subscription_count() == 1
    assert not there


def test_another_process_cannot_take_a_domain_that_is_held(ros):
    code = (
        f"from benchmarks.ros import domains; domains.DOMAINS = [{ros.domain}]\n"
        "with domains.own_domain() as got: print(got)"
    )
    process = ros.start(sys.executable, "-c", code, environment={"PYTHONPATH": str(Path.cwd())})
    assert process.wait(30.0) == 1
    assert "are in use" in process.output


def test_a_child_gets_sigint_even_if_the_tests_run_in_the_background_of_a_script(ros):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = ros.start(sys.executable, "-c", "import time; print('ready')\nwhile True: time.sleep(0.01)")
    finally:
        signal.signal(signal.SIGINT, before)
    ros.wait(lambda: "ready" in process.output, what="the child")
    process.stop()
    assert "KeyboardInterrupt" in process.output


def test_killing_a_process_kills_what_it_has_started(ros):
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid); time.sleep(60)"
    )
    process = ros.start(sys.executable, "-c", code)
    ros.wait(lambda: "\n" in process.output, what="the grandchild's number")
    grandchild = int(process.output)
    assert process.kill() == -signal.SIGKILL
    ros.wait(lambda: not is_alive(grandchild), what="the grandchild's end")


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_failing_callback_fails_the_test(other):
    def fail(_message):
        raise ValueError("no such word")

    other.tester.create_subscription(String, "words", fail, 10)
    other.matched(other.publisher(String, "words")).publish(String())
    with pytest.raises(AssertionError, match="while waiting for the end of time: ValueError") as failure:
        other.wait(lambda: False, what="the end of time")
    assert isinstance(failure.value.__cause__, ValueError)


def test_waiting_in_vain_says_for_what_and_what_processes_wrote(ros):
    process = ros.start(sys.executable, "-c", "print('cannot find the robot')")
    process.wait()
    with pytest.raises(pytest.fail.Exception, match=r"for the robot(.|\n)*cannot find the robot"):
        ros.wait(lambda: False, timeout=0.05, what="the robot")


def test_a_domain_in_which_another_program_runs_is_left_alone(monkeypatch):
    with own_domain() as taken:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as foreign:
        foreign.bind(("127.0.0.1", domains.ports_of(taken)[10]))  # as the first participant of that domain
        monkeypatch.setattr(domains, "_LATER", itertools.count(domains.DOMAINS.index(taken)))
        with own_domain() as found:
            assert found != taken
