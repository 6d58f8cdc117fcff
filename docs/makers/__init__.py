# SPDX-License-Identifier: Apache-2.0
"""What the documentation takes from the code: pages made before Sphinx looks for pages."""
