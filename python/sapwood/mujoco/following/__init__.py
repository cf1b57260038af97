"""Models that change in place: which arrays changed, and which parameters follow."""
