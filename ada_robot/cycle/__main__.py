# SPDX-License-Identifier: Apache-2.0
"""Process of the safety cycle, started by `ada_robot.robot.Robot`.

    python -m ada_robot.cycle FAST REQUESTS FLIGHT

The arguments are descriptors: two sockets, and the memory of the flight recorder (-1 for none). When the client closes
the robot or dies, the process brings the robot to rest and ends.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
from contextlib import suppress

from ada_robot.cycle import messages
from ada_robot.cycle.server import CycleServer
from ada_robot.driver import driver_class
from ada_robot.processes import NonBlockingOutput
from ada_robot.safety.flight_recorder import recorder_of
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import checked
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_robot.timing.realtime import set_realtime_priority, stay_in_memory

PATIENCE = 30.0  # timeout of the first request [s]
_LOOK = 0.05  # interval of signal checks [s]: a signal just before a wait does not interrupt it
_log = logging.getLogger("ada_robot")


def main(fast: int, requests: int, flight: int) -> int:
    """Run the cycle until its end, with a non-blocking stderr."""
    with NonBlockingOutput():
        return _serve(fast, requests, flight)


def _serve(fast: int, requests: int, flight: int) -> int:
    logging.basicConfig(format="[ada_robot.cycle] %(levelname)s %(message)s", level=logging.INFO)
    # Ctrl-C is handled by the client, which closes the robot
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fast_end, requests_end = socket.socket(fileno=fast), socket.socket(fileno=requests)
    requests_end.settimeout(PATIENCE)
    data = requests_end.recv(messages.LARGEST)
    if not data:
        return 0
    try:
        configuration = messages.decode_request(data).details
        make, safety = driver_class(configuration["driver"]), checked(SafetySettings, configuration["safety"])
        driver = make(checked(make.SETTINGS, configuration["settings"]))
        server = CycleServer(driver, safety, fast_end, requests_end, recorder_of(flight, safety))
    except Exception as problem:
        requests_end.send(messages.encode_reply(0, problem))
        return 1
    signal.signal(signal.SIGTERM, lambda *_: server.leave("the cycle process received SIGTERM"))

    def begin() -> None:
        problems = [stay_in_memory(), set_realtime_priority(safety.realtime_priority)]
        server.notes += [problem for problem in problems if problem]
        if server.notes:
            _log.warning("%s: the cycle process runs with %s", driver.NAME, "; ".join(server.notes))

    server.loop.post(begin)
    reduce_interpreter_jitter()
    with suppress(BrokenPipeError):  # the client has died; the first cycle detects it and ends
        requests_end.send(messages.encode_reply(0, None))
    server.loop.start()
    while not server.ended.wait(_LOOK):
        pass
    server.loop.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:4])))
