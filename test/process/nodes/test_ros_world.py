# SPDX-License-Identifier: Apache-2.0
"""The world of the ROS tests (ros_world.py): domains, processes, failing callbacks."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

from processes import is_alive  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from benchmarks.ros import domains  # noqa: E402


def test_two_worlds_have_different_domains_and_no_messages_in_common(ros, other):
    assert ros.domain != other.domain
    here, there = ros.collect(String, "words"), other.collect(String, "words")
    publisher = ros.matched(ros.publisher(String, "words"))
    publisher.publish(String(data="hello"))
    assert here.newest().data == "hello"
    assert publisher.get_subscription_count() == 1 and not there


def test_a_domain_that_another_process_or_program_uses_is_not_taken(ros):
    code = (
        f"from benchmarks.ros import domains; domains.DOMAINS = [{ros.domain}]\n"
        "with domains.own_domain() as got: print(got)"
    )
    process = ros.start(sys.executable, "-c", code, environment={"PYTHONPATH": str(Path.cwd())})
    assert process.wait() == 1 and "are in use" in process.output
    with domains.own_domain() as taken:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as foreign, ExitStack() as stack:
        foreign.bind(("127.0.0.1", domains.ports_of(taken)[10]))  # as the first participant of that domain
        assert taken not in {stack.enter_context(domains.own_domain()) for _ in range(3)}


def test_a_process_gets_sigint_even_in_the_background_of_a_script_and_is_killed_with_its_children(ros):
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid)\n"
        "while True: time.sleep(0.01)"
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        processes = [ros.start(sys.executable, "-c", code) for _ in range(2)]
    finally:
        signal.signal(signal.SIGINT, before)
    ros.wait(lambda: all("\n" in one.output for one in processes), what="the children")
    processes[0].stop()
    assert "KeyboardInterrupt" in processes[0].output
    child = int(processes[1].output)
    assert processes[1].kill() == -signal.SIGKILL
    ros.wait(lambda: not is_alive(child), what="the child's end")


def test_a_failing_callback_and_a_condition_that_never_holds_fail_the_test(other):
    def fail(_message):
        raise ValueError("no such word")

    other.tester.create_subscription(String, "words", fail, 10)
    other.matched(other.publisher(String, "words")).publish(String())
    with pytest.raises(AssertionError) as failure:
        other.wait(lambda: False, what="the end of time")
    assert isinstance(failure.value.__cause__, ValueError)
    other.start(sys.executable, "-c", "print('cannot find the robot')").wait()
    with pytest.raises(pytest.fail.Exception) as failure:
        other.wait(lambda: False, timeout=0.05, what="the robot")
    assert "for the robot" in str(failure.value) and "\ncannot find the robot" in str(failure.value)
