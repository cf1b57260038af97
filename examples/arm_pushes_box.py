"""A smooth arm of two joints pushes a box over a table until it is where it should be."""

import mujoco

import sapwood.mujoco

model = mujoco.MjModel.from_xml_string("""
<mujoco>
  <option timestep="0.005"/>
  <default>
    <geom density="500"/>
    <joint type="hinge" axis="0 0 1" damping="0.5" armature="0.02"/>
    <position kp="200" kv="20" forcerange="-30 30"/>
  </default>
  <worldbody>
    <light pos="0 0 2"/>
    <geom name="table" type="plane" size="1 1 0.1"/>
    <body name="upper" pos="0 0 0.05">
      <joint name="shoulder"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="elbow"/>
        <geom name="arm" type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"
              friction="0" priority="1"/>
      </body>
    </body>
    <body name="box" pos="0.4 0.12 0.05">
      <freejoint/>
      <geom name="box" type="box" size="0.05 0.05 0.05" density="1000" rgba="0.8 0.4 0.1 1"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder"/><position joint="elbow"/></actuator>
</mujoco>""")
data = mujoco.MjData(model)
data.joint("elbow").qpos = data.ctrl[1] = 0.3
stepper = sapwood.mujoco.Stepper(model)


def lead(data):
    """Every 0.1 s: the shoulder follows a ramp, until the box is where it should be."""
    data.ctrl[0] = 0.3 * data.time
    x, y, _ = data.body("box").xpos
    fx, fy, _ = stepper.contacts.between("arm", "box").force_on_geom("box")
    print(f"{data.time:.1f} s  box at ({x:.3f}, {y:.3f})  pushed by ({fx:.1f}, {fy:.1f}) N")
    return y > 0.25


print(stepper.run(data, 1000, lead, every=20))
