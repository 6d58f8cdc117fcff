# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the Mitsubishi PA-10 (Yamada), used through `ada_controllers.pa10_kinematics`."""
