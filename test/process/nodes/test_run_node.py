# SPDX-License-Identifier: Apache-2.0
"""Real processes that run small nodes through `run_node`."""

from __future__ import annotations

import signal
import sys
from textwrap import dedent

import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

NODE = """\
    import signal, sys, threading, time
    import rclpy
    from rclpy.node import Node
    from std_msgs.msg import String
    from std_srvs.srv import Trigger
    from ada_dynamics.errors import AdaError, InputError
    from ada_robot.ros.run_node import run_node

    class Small(Node):
        '''A node for tests.'''
        def __init__(self):
            super().__init__("small")
            self.words = self.create_publisher(String, "words", 10)
            self.create_service(Trigger, "~/act", self.act)
            self.failure = None
            self.beginning = self.create_timer(0.001, self.begin)    # before that, there is no node that could close
        def begin(self):
            self.beginning.cancel()
            print("ready", flush=True)
        def act(self, request, response):
            return response
        def close(self):
            self.words.publish(String(data="goodbye"))    # the context must still be alive
            print("closed", flush=True)

"""


def small_node(ros, extra: str = "", make: str = "Small", arguments=()):
    code = dedent(NODE) + dedent(extra) + f"\nsys.argv[0] = 'small_node'\nsys.exit(run_node({make}))\n"
    return ros.start(sys.executable, "-c", code, *arguments)


def until(ros, process, text):
    ros.wait(lambda: text in process.output, what=f"{text!r} from the node")


def test_a_signal_ends_a_node_cleanly_and_it_closes_with_a_living_context(ros):
    for signals in ([signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT] * 2):
        process = small_node(ros)
        until(ros, process, "ready")
        for number in signals:
            process.signal(number)
        assert process.wait() == 0, process.output
        assert process.output.split() == ["ready", "closed"]


BUSY = """
    class Busy(Small):
        def begin(self):
            super().begin()
            ended.wait(60.0)
            print("called back", flush=True)
        def halt(self):
            print("halted", flush=True)
            ended.set()
    ended = threading.Event()
"""


def test_a_node_is_halted_at_once_while_a_callback_still_runs(ros):
    process = small_node(ros, BUSY, make="Busy")
    until(ros, process, "ready")
    process.signal(signal.SIGINT)
    assert process.wait() == 0, process.output
    assert process.output.split("\n")[:4] == ["ready", "halted", "called back", "closed"]


MAKING = """
    def being_made():
        try:
            sys.stdout.write("making\\n")
            sys.stdout.flush()
            while True:  # a signal that comes just before a long sleep does not end it
                time.sleep(0.01)
        finally:
            print("interrupted", flush=True)
            {last}
    """


def test_a_signal_ends_a_node_that_is_still_being_made_though_it_fails_on_its_way_out(ros):
    process = small_node(ros, MAKING.format(last="raise RuntimeError('it is only half made')"), "being_made")
    until(ros, process, "making")
    assert process.stop() == 0, process.output
    assert process.output.split() == ["making", "interrupted"]


NODE_THAT = """
    class Node(Small):
        def __init__(self):
            super().__init__()
            {begin}
        def fail(self):
            {fail}
        def close(self):
            print("closed", flush=True)
            {close}
    """
TIMER = "self.create_timer(0.01, self.fail)"


def node_that(begin=TIMER, fail="pass", close="pass"):
    return NODE_THAT.format(begin=begin, fail=fail, close=close)


@pytest.mark.parametrize(
    ("extra", "code", "written"),
    [
        (node_that(fail="rclpy.try_shutdown()"), 0, "ready\nclosed\n"),
        (
            "def Node():\n    raise InputError('robot is 3;\\n it must be a name')\n",
            2,
            "small_node: error: robot is 3; it must be a name\n",
        ),
        (node_that(fail="raise AdaError('it is empty')"), 1, "ready\nclosed\nsmall_node: error: it is empty\n"),
        (
            node_that("threading.Timer(0.05, self.fail).start()", "self.failure = AdaError(1)", "raise AdaError(2)"),
            1,
            "ready\nclosed\nsmall_node: error: 2\nsmall_node: error: 1\n",
        ),
        (
            node_that(fail="signal.raise_signal(signal.SIGINT)", close="raise AdaError('it cannot be written')"),
            1,
            "ready\nclosed\nsmall_node: error: it cannot be written\n",
        ),
    ],
    ids=["shut down", "not to be made", "fails in a callback", "fails in a thread", "fails while it closes"],
)
def test_a_node_that_ends_writes_the_reason_in_a_line_after_it_has_closed(ros, extra, code, written):
    process = small_node(ros, extra, "Node")
    assert process.wait() == code
    assert process.output == written


def test_the_third_signal_ends_a_node_that_hangs_while_it_closes(ros):
    hanging = """
        class Hanging(Small):
            def close(self):
                print("closing", flush=True)
                threading.Event().wait()
        """
    process = small_node(ros, hanging, "Hanging")
    until(ros, process, "ready")
    process.signal(signal.SIGINT)
    until(ros, process, "closing")
    process.signal(signal.SIGINT)

    def third():  # two equal signals in a row may arrive as one
        process.signal(signal.SIGINT)
        return not process.is_running

    ros.wait(third, what="the end of a node that hangs")
    assert process.wait() == -signal.SIGINT


def test_no_kind_of_callback_ends_a_node_that_holds_a_robot(ros):
    extra = """
        from ada_robot.ros.managed_node import ManagedNode
        class Holding(ManagedNode):
            def __init__(self):
                super().__init__("small")
                self.create_subscription(String, "orders", lambda _: self.fail("subscription"), 10)
                self.create_service(Trigger, "~/fail", lambda *_: self.fail("service"))
                self.create_service(Trigger, "~/act", self.act)
                self.add_on_set_parameters_callback(lambda _: self.fail("parameter"))
                print("ready", flush=True)
            def fail(self, what):
                raise RuntimeError(f"mistake in a {what}")
            def act(self, _, answer):
                answer.success = True
                return answer
        """
    process = small_node(ros, extra, "Holding")
    until(ros, process, "ready")
    orders = ros.matched(ros.publisher(String, "orders", 10))
    fail = ros.tester.create_client(Trigger, "small/fail")
    change = ros.tester.create_client(SetParameters, "small/set_parameters")
    ros.wait(lambda: fail.service_is_ready() and change.service_is_ready(), what="the services")
    wanted = Parameter("use_sim_time", value=True).to_parameter_msg()
    for what, act in (
        ("subscription", lambda: orders.publish(String(data="jump"))),
        ("service", lambda: fail.call_async(Trigger.Request())),
        ("parameter", lambda: change.call_async(SetParameters.Request(parameters=[wanted]))),
    ):

        def is_told(what=what, act=act):
            act()  # the log has one such word a second
            return f"mistake in a {what}" in process.output

        ros.wait(is_told, what=f"the mistake in a {what}")
        assert ros.call(Trigger, "small/act").success
    assert process.stop() == 0, process.output


def test_arguments_that_ros_does_not_take_are_refused_and_help_names_those_that_it_takes(ros):
    table = {
        "pa10": "-p name:=value",
        "--ros-args --bla": "--bla",
        "--ros-args -p url:=dry:": "quote text",
        "--ros-args --params-file /no/such/file.yaml": "/no/such/file.yaml",
    }
    processes = {words: small_node(ros, arguments=words.split()) for words in table}
    help_text = small_node(ros, arguments=["--help"])
    for words, process in processes.items():
        assert process.wait() == 2
        line = process.output.splitlines()[-1]
        assert line.startswith("small_node: error: ") and table[words] in line
        assert "Traceback" not in process.output
    assert help_text.wait() == 0
    assert "--ros-args -p PARAMETER:=VALUE" in help_text.output and "A node for tests." in help_text.output
