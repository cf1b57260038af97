"""The same box pushed by `mj_step` and by sapwood, beside Coulomb's law."""

import mujoco

import sapwood.mujoco

g, mu, mass, push, seconds = 9.81, 0.5, 2.0, 12.0, 1.0
model = mujoco.MjModel.from_xml_string(f"""
<mujoco>
  <option timestep="0.002" gravity="0 0 {-g}"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1" friction="{mu}"/>
    <body pos="0 0 0.05">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.05" mass="{mass}" friction="{mu}"/>
    </body>
  </worldbody>
</mujoco>""")


def simulate(step):
    """Where the box is and how fast after a second, and how high its lowest corner came."""
    data, highest = mujoco.MjData(model), 0.0
    while data.time < seconds:
        data.qfrc_applied[0] = push
        step(data)
        corner = data.qpos[2] - abs(data.geom_xmat[1].reshape(3, 3)[2]) @ model.geom_size[1]
        highest = max(highest, corner)
    return data.qpos[0], data.qvel[0], highest


stepper = sapwood.mujoco.Stepper(model)
runs = {
    "mj_step": simulate(lambda data: mujoco.mj_step(model, data)),
    "sapwood": simulate(stepper.step),
}
acceleration = push / mass - mu * g
runs["Coulomb"] = (acceleration * seconds**2 / 2, acceleration * seconds, 0.0)
print("           place, m  speed, m/s  clearance, mm")
for name, (place, speed, clearance) in runs.items():
    print(f"{name:8}  {place:9.4f}  {speed:10.4f}  {1e3 * clearance:13.4f}")
