# SPDX-License-Identifier: Apache-2.0
"""Tests of a device and its wire, check by check, and a scan of what is plugged in; see `ada hw`."""
