# SPDX-License-Identifier: Apache-2.0
"""What a device and its wire are worth, check by check, and what is plugged into this machine; see `ada hw`."""
