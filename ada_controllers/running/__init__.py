# SPDX-License-Identifier: Apache-2.0
"""Control loop: timeouts, checks of states, and transition between controllers."""
