# SPDX-License-Identifier: Apache-2.0
"""What pushes back: the ground, shapes that touch one another, soft stops and friction of joints."""
