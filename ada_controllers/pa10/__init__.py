# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the Mitsubishi PA-10, as Yamada derives them; users call `ada_controllers.pa10_kinematics`."""
