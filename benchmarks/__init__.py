"""Benchmarks of sapwood against other solvers: ``python -m benchmarks --help``.

One module per question (`solvers`), with its table and figure beside it; the solvers that are
compared live in `sapwood.studies.peers`. Not part of the installed package.
"""
