"""Numbers of models from measurements: a pushed block, and a cube that was tossed."""
