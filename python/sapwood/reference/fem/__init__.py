"""The mirror of ``csrc/fem``: elements, and contacts of soft bodies."""
