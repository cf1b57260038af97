"""Forces of every contact over time: a box falls onto an edge and comes to rest.

python contact_forces.py [forces.png]
"""

import sys

import mujoco
import numpy as np

import sapwood.mujoco

model = mujoco.MjModel.from_xml_string("""
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="box" pos="0 0 0.15" euler="20 0 0">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.05" mass="1"/>
    </body>
  </worldbody>
</mujoco>""")
data = mujoco.MjData(model)
stepper = sapwood.mujoco.Stepper(
    model, contact=sapwood.ContactMaterial(stiffness=2e4, dissipation_time=0.02)
)
result = stepper.run(data, 300, record=("force", "contacts"))

upwards = result.force[:, model.body("box").id, 2]  # the sum on the box, in every step
print(f"largest force {upwards.max():.1f} N, at {result.time[upwards.argmax()]:.3f} s")
print(
    f"in the end    {upwards[-1]:.4f} N; the box weighs {model.body('box').subtreemass[0] * 9.81}"
)
print(result.contacts_of(-1))

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    # each contact of each step is a row of one table
    step = np.repeat(np.arange(result.steps), np.diff(result.contact_offsets))
    contacts = result.all_contacts
    left = contacts.position[:, 1] < contacts.position[:, 1].mean()
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(result.time, upwards, color="0.7", label="all")
    for side, name in ((left, "corners of the lower edge"), (~left, "corners of the other one")):
        axes.plot(result.time[step[side]], contacts.world_force[side, 2], ".", ms=4, label=name)
    axes.set(xlabel="time, s", ylabel="force upwards, N", yscale="log", ylim=(0.3, 400))
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=120)
