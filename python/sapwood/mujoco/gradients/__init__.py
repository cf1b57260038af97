"""Derivatives of a step, from copies of the state and slopes of the free motion."""
