# SPDX-License-Identifier: Apache-2.0
"""A mechanism's loops on numbers: poses that close them, their rank, how to eliminate them."""
