"""Batches of worlds: the arrays of a batch, its threads, and parameters of each world."""
