# SPDX-License-Identifier: Apache-2.0
"""Safety functions common to all robots: limits, watchdogs, ramps to rest, latched stops."""
