# SPDX-License-Identifier: Apache-2.0
"""Contact with the ground and between links, soft joint stops, and joint friction."""
