"""Derivatives of solutions with respect to their problems."""
