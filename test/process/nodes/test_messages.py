# SPDX-License-Identifier: Apache-2.0
"""Sentences of refusals in this folder: parameters of nodes that cannot be used."""

import pytest

pytest.importorskip("rclpy")

from hardware_world import ONE, TWO

from ada_dynamics.errors import InputError
from ada_hardware.node.hardware_node import HardwareNode
from ada_tools.nodes.target_node import TargetNode

pytestmark = pytest.mark.ros

HARDWARE = (
    ({}, "no device: set the parameter device to one of pa10, khr1"),
    ({**ONE, "urll": "x"}, "Did you mean 'url'"),
    ({**ONE, "pa10__safty__velocity_scale": 0.5}, r"pa10\.safty"),
    ({**ONE, "pa10__safety__host_timeout": 0.05}, "host_timeout is 0.05 s, shorter than command_timeout"),
    ({**ONE, "pa10__topic": "force"}, r"parameter pa10\.topic applies to a sensor"),
    ({**ONE, "pa10__driver__url": "udp://127.0.0.1:7"}, "set only one of them"),
    ({**ONE, "pa10__kind": "khr1"}, r"pa10\.kind is 'khr1', but device is 'pa10'"),
    ({**ONE, "devices": ["a"]}, "device and devices are both set"),
    ({"devices": ["a", "a"], "a__kind": "pa10"}, "duplicate name"),
    ({"devices": ["a"]}, r"parameter a\.kind is not set"),
    ({"devices": ["rate"], "rate": 100.0}, "'rate' is not a valid device name"),
    ({"devices": ["A b"]}, "is not a valid device name"),
    ({**TWO, "url": "udp://127.0.0.1:7"}, "url is for the parameter device"),
    ({**TWO, "right__prefix": ""}, r"devices left and right would have the same topics; set right\.prefix"),
    ({**ONE, "pa10__prefix": "1 b/"}, r"parameter pa10\.prefix is '1 b/'"),
    ({"device": "dynpick", "dynpick__place": "thread"}, r"parameter dynpick\.place applies to a robot"),
)
TARGET = (
    ({"joints": ["a"], "positions": [0.1, 0.2]}, "2 values and parameter joints 1 names"),
    ({"pose": [0.0, 1.0]}, "2 numbers; it must have 6"),
)


@pytest.mark.parametrize(("node", "table"), [(HardwareNode, HARDWARE), (TargetNode, TARGET)])
def test_a_node_with_unusable_parameters_is_refused_at_its_start(ros, node, table):
    for parameters, words in table:
        with pytest.raises(InputError, match=words):
            ros.make(node, parameters)
