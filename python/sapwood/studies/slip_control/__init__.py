"""A gripper with soft pads lets a spatula turn under its own weight (section X-D).

Two pads with a pressure field hold a stiff handle off its centre of mass. Pressed hard they carry
it; pressed softly the patches slip, and the spatula turns about them, under control of the grip
force alone. Points of contact could not do it: they have no torque about their normal.
"""
