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
    import sys, threading, time
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_node_cleanly_and_it_closes_with_a_living_context(ros, number):
    process = small_node(ros)
    until(ros, process, "ready")
    process.signal(number)
    assert process.wait() == 0, process.output
    assert process.output.split() == ["ready", "closed"]


def test_two_signals_at_once_as_a_launch_file_sends_them_do_no_harm(ros):
    process = small_node(ros)
    until(ros, process, "ready")
    process.signal(signal.SIGINT)
    process.signal(signal.SIGINT)
    assert process.wait() == 0, process.output
    assert process.output.split() == ["ready", "closed"]


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


def test_a_signal_ends_a_node_that_is_still_being_made(ros):
    slow = """
        def slow():
            print("making", flush=True)
            while True:  # a signal that comes just before a long sleep does not end it
                time.sleep(0.01)
        """
    process = small_node(ros, slow, "slow")
    until(ros, process, "making")
    assert process.stop() == 0, process.output
    assert process.output.split() == ["making"]


def test_a_node_that_a_signal_interrupts_while_it_is_made_may_stumble_on_its_way_out(ros):
    half = """
        def half():
            try:
                print("making", flush=True)
                while True:
                    time.sleep(0.01)
            finally:
                raise RuntimeError("it is only half made")
        """
    process = small_node(ros, half, "half")
    until(ros, process, "making")
    assert process.stop() == 0, process.output
    assert process.output.split() == ["making"]


def test_a_shutdown_from_inside_is_a_clean_end(ros):
    own = """
        class Own(Small):
            def __init__(self):
                super().__init__()
                self.create_timer(0.01, rclpy.try_shutdown)
            def close(self):
                print("closed", flush=True)
        """
    process = small_node(ros, own, "Own")
    assert process.wait() == 0, process.output
    assert process.output.split() == ["ready", "closed"]


def test_what_a_user_can_mend_is_one_line_and_exit_code_2(ros):
    process = small_node(ros, "def broken():\n    raise InputError('robot is 3;\\n it must be a name')\n", "broken")
    assert process.wait() == 2
    assert process.output == "small_node: error: robot is 3; it must be a name\n"


@pytest.mark.parametrize("error, shows_trace", [("RuntimeError", True), ("AdaError", False)])
def test_an_exception_in_a_callback_is_exit_code_1_after_the_node_has_closed(ros, error, shows_trace):
    extra = f"""
        class Failing(Small):
            def __init__(self):
                super().__init__()
                self.create_timer(0.01, self.fail)
            def fail(self):
                raise {error}("the battery is empty")
        """
    process = small_node(ros, extra, "Failing")
    assert process.wait() == 1
    assert "closed" in process.output
    assert process.output.splitlines()[-1] == "small_node: error: the battery is empty"
    assert ("Traceback" in process.output) is shows_trace


def test_no_kind_of_callback_ends_a_node_that_holds_a_robot(ros):
    """Messages, requests and parameters come from anybody on the network."""
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


def test_a_node_that_holds_a_robot_goes_on_when_a_callback_fails_and_says_so(ros):
    extra = """
        class Holding(Small):
            outlives_callbacks = True
            def __init__(self):
                super().__init__()
                self.count = 0
                self.create_timer(0.01, self.fail)
            def fail(self):
                self.count += 1
                if self.count == 5:
                    print("five", flush=True)
                raise RuntimeError("the battery is empty")
        """
    process = small_node(ros, extra, "Holding")
    until(ros, process, "five")
    process.signal(signal.SIGINT)
    assert process.wait() == 0, process.output
    assert "a callback failed; the node goes on" in process.output and "the battery is empty" in process.output
    assert process.output.count("Traceback") < 5, "once a second is enough"
    assert process.output.rstrip().endswith("closed")


def test_the_attribute_failure_set_by_a_thread_of_the_node_ends_it_with_exit_code_1(ros):
    extra = """
        class Failing(Small):
            def __init__(self):
                super().__init__()
                threading.Timer(0.05, self.fail).start()
            def fail(self):
                self.failure = AdaError("the physics blew up at t = 3 s")
        """
    process = small_node(ros, extra, "Failing")
    assert process.wait() == 1
    assert process.output == "ready\nclosed\nsmall_node: error: the physics blew up at t = 3 s\n"


def test_a_failure_while_closing_is_not_silent(ros):
    extra = """
        class Failing(Small):
            def close(self):
                raise AdaError("the recording cannot be written")
        """
    process = small_node(ros, extra, "Failing")
    until(ros, process, "ready")
    assert process.stop() == 1
    assert process.output.endswith("small_node: error: the recording cannot be written\n")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["pa10"], ["'pa10' is unknown", "--ros-args", "-p name:=value"]),
        (["--ros-args", "--bla"], ["--bla"]),
        (["--ros-args", "-p", "gravity:=[0, 1.5]"], ["gravity", "[1.0, 2.5]"]),
        (["--ros-args", "--params-file", "/no/such/file.yaml"], ["/no/such/file.yaml"]),
    ],
)
def test_arguments_that_ros_does_not_take_are_refused_by_name(ros, arguments, words):
    process = small_node(ros, arguments=arguments)
    assert process.wait() == 2
    line = process.output.splitlines()[-1]
    assert line.startswith("small_node: error: ")
    for word in words:
        assert word in line
    assert "Traceback" not in process.output


def test_help_says_how_parameters_are_given(ros):
    process = small_node(ros, arguments=["--help"])
    assert process.wait() == 0
    assert "--ros-args -p PARAMETER:=VALUE" in process.output
    assert "A node for tests." in process.output


def test_mixed_installations_are_warned_of_at_the_start(ros, tmp_path):
    index = tmp_path / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "rclpy").touch()
    ros.environment["AMENT_PREFIX_PATH"] = str(tmp_path)
    process = small_node(ros, "def broken():\n    raise InputError('enough')\n", "broken")
    assert process.wait() == 2
    if "ros-rclpy" not in process.output:
        pytest.skip("rclpy is not from PyPI here")
    assert process.output.startswith("small_node: warning: ")
    assert str(tmp_path) in process.output
