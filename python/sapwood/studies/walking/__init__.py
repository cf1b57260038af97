"""A quadruped that walks under inverse dynamics, and what is measured of it."""
