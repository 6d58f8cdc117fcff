# SPDX-License-Identifier: Apache-2.0
"""What reaches a HEXA in torque mode while cycles are late, answers missing, or commands jump: packets are judged."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hexa_world import World

from ada_robot.contract import Demand, Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

T, MOST = 0.002, 20.0  # [s], [N m]
HELD = 5  # packets, as docs/hardware_safety.md says
POSITION, EFFORT, STOP = 2, 3, 4  # requests
COMMAND, STATUS = struct.Struct(">2sBBII6dI"), struct.Struct(">2sBBIIH6HHd18dI")


class Table:
    """A table under a safe cycle, and what it is told: request, six numbers, torques that it told before."""

    def __init__(self, safety: SafetySettings | None = None) -> None:
        self.world = world = World()
        self.told: list[tuple[int, np.ndarray, np.ndarray]] = []
        torques = np.zeros(6)

        def sent(packet: bytes) -> None:
            _, _, request, _, _, *values, _ = COMMAND.unpack(packet)
            if request in (POSITION, EFFORT, STOP):
                self.told.append((request, np.array(values), torques.copy()))

        def received(packet: bytes) -> bytes:
            if len(packet) == STATUS.size:
                torques[:] = STATUS.unpack(packet)[-7:-1]
            return packet

        world.tap.on_send, world.tap.on_receive = sent, received
        self.cycle = SafeCycle(world.driver, safety or SafetySettings(), clock=world.clock)
        self.cycle.open(world.clock())
        self.due = world.clock()
        self.steps(3)
        self.cycle.activate(world.clock())
        self.due = world.clock()
        self.steps(50)

    def weight(self) -> np.ndarray:
        plant = self.world.table.plant
        return plant.weight_torques - 2.0 * plant.rates

    def steps(self, count: int, torques=None) -> None:
        for _ in range(count):
            now = self.world.clock()
            commands = [] if torques is None else [Demand(Mode.EFFORT, np.asarray(torques()), now)]
            self.cycle.step(now, commands)
            self.due = max(self.due + T, self.world.clock())
            self.world.clock.sleep(self.due - self.world.clock())

    def sleep(self, seconds: float) -> None:
        self.world.clock.sleep(seconds)
        self.due = self.world.clock()

    def too_fast(self, rate: float = MOST / 0.1) -> list[int]:
        """Packets whose torques are farther from those before than they may change in a period."""
        found = []
        for i, (request, values, gave) in enumerate(self.told):
            if request == EFFORT:
                base = self.told[i - 1][1] if i and self.told[i - 1][0] == EFFORT else gave
                if (np.abs(values - base) > rate * T * 1.001 + 1e-9).any():
                    found.append(i)
        return found


def test_torques_that_jump_reach_the_table_no_faster_than_their_rate():
    table = Table()
    table.steps(50, table.weight)
    table.steps(8, lambda: table.weight() + 5.0)
    table.steps(20, table.weight)
    assert [request for request, *_ in table.told[-70:]] == [EFFORT] * 70
    assert table.too_fast() == []
    assert np.abs(np.diff([values[0] for request, values, _ in table.told if request == EFFORT])).max() == (
        pytest.approx(MOST / 0.1 * T, rel=1e-6)
    ), "it is the rate that bounds"
    assert table.cycle.phase is Phase.ACTIVE


@pytest.mark.parametrize("late", [0.013, 0.018])
def test_one_late_cycle_lets_no_torque_go(late):
    table = Table()
    table.steps(50, table.weight)
    before, count = table.world.table.plant.angles.copy(), len(table.told)
    table.sleep(late)
    table.steps(60, table.weight)
    told = table.told[count:]
    held = sum(request == EFFORT and np.array_equal(values, table.told[count - 1][1]) for request, values, _ in told)
    assert held == HELD
    assert {request for request, *_ in told[HELD:]} <= {POSITION, EFFORT}
    assert all(values.any() for request, values, _ in told if request == EFFORT)
    assert told[-1][0] == EFFORT
    assert table.too_fast() == []
    assert np.abs(table.world.table.plant.angles - before).max() < 0.02
    assert table.cycle.phase is Phase.ACTIVE
    assert not table.world.table.violations


def test_a_table_that_is_not_heard_is_held_by_its_last_torques_then_in_its_pose_then_braked():
    table = Table()
    table.steps(50, table.weight)
    before, count = table.world.table.plant.angles.copy(), len(table.told)
    table.world.wire.fault("mute", 1.0)
    table.steps(60, table.weight)
    requests = [request for request, *_ in table.told[count:]]
    assert requests.index(POSITION) <= 3 + HELD
    assert EFFORT not in requests[requests.index(POSITION) :]
    assert STOP in requests
    assert table.cycle.phase is Phase.STOPPED
    assert table.too_fast() == []
    assert np.abs(table.world.table.plant.angles - before).max() < 0.02
    assert not table.world.table.violations
