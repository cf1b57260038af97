"""The mirror of ``csrc/problem``: regularization, and the graph of a problem."""
