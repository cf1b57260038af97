"""Ways to take the steps of a model, in C and in Python."""
