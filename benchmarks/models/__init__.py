"""Models that people have, ours beside MuJoCo's own step: quality and speed."""
