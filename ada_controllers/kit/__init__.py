# SPDX-License-Identifier: Apache-2.0
"""What all controllers are made with: compiled laws, gains, checks of states and references, commands within limits."""
