# SPDX-License-Identifier: Apache-2.0
"""Look for mistakes in a robot description: everything that is wrong or odd, with the line and the fix.

`python check_urdf.py robot.urdf` checks a file of yours.
"""

import sys

import ada_dynamics as ada

# Masses in g, an inertia that no body has, limits the wrong way round.
SMELLY = """
<robot name="smelly">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <mass value="2500"/>
      <inertia ixx="1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 0 1"/>
    <limit lower="1.5" upper="-1.5" effort="10" velocity="1"/>
  </joint>
</robot>
"""

report = ada.check(sys.argv[1] if len(sys.argv) > 1 else SMELLY)
print(report)
print("can be used" if report.ok else f"{len(report.errors)} errors to mend first")
