# SPDX-License-Identifier: Apache-2.0
"""How safely robots are driven when something fails, and how well the cycle of a PA-10 keeps time.

Everything is as in use: the device is an emulator in a process of its own behind a real socket or terminal, the cycle
has its own process, and so has the program that commands. Times are of the steady clock, which all of them share: those
of demands come from the flight recorder, which keeps every cycle, those of the device from the emulator.
"""
