# SPDX-License-Identifier: Apache-2.0
"""Devices written a second time, and a judge of what reaches them: for tests of drivers and of what keeps robots safe.

Nothing here reads or imports a driver, a codec or an emulator of `ada_hardware`: bytes, scales, state machines and
limits come from the makers' and users' documents alone, so that an error there is not made here again.
"""
