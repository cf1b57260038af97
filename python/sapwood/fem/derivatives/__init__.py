"""Derivatives of steps of soft bodies."""
