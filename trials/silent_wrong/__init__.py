# SPDX-License-Identifier: Apache-2.0
"""Mutated robots and states: the library is right, or it says so. `docs/silent_wrong.md` tells how that is judged."""
