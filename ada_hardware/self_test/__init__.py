# SPDX-License-Identifier: Apache-2.0
"""Self-tests of a device and its connection, and detection of connected devices; see `ada hw`."""
