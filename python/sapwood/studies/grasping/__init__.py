"""An arm that holds a box between four fingertips while it swings (Zapolsky and Drumwright)."""
