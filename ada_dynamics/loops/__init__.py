# SPDX-License-Identifier: Apache-2.0
"""What is found out about a mechanism's loops on numbers: poses that close them, their rank, how to eliminate them."""
