# SPDX-License-Identifier: Apache-2.0
"""The published experiments as data: model, start, control, what must hold."""
