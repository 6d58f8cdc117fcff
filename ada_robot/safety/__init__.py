# SPDX-License-Identifier: Apache-2.0
"""What keeps every robot safe, whatever is commanded and whatever fails; the same for all of them."""
