"""Meshes: their shapes, files, surfaces and edges."""
