"""How the points of a sweep are run: on cores or on a cluster, timed, and kept."""
