# SPDX-License-Identifier: Apache-2.0
"""Contact: the ground, shapes that touch one another, soft stops and friction of joints."""
