"""Whole simulations of the same scenes in several engines: time per step beside quality."""
