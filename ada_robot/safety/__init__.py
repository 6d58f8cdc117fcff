# SPDX-License-Identifier: Apache-2.0
"""Safety of every robot, whatever is commanded and whatever fails; the same for all of them."""
