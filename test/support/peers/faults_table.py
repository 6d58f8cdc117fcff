# SPDX-License-Identifier: Apache-2.0
"""Every fault of every peer: the rows of the tests and of `make faults`."""

from peers import khr1_scene, pa10_faults, pa10_motion_faults, sensor_faults

FAULTS = [
    *pa10_faults.device_faults(),
    *pa10_motion_faults.motion_faults(),
    *khr1_scene.faults(),
    *sensor_faults.faults(),
]
