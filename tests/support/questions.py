"""Questions of a newcomer, and the pages that answer them."""

from __future__ import annotations

QUESTIONS = {
    "install": ["how-to/install"],
    "first simulation": ["tutorials/first_simulation"],
    "contact forces": ["how-to/simulation/contact_forces"],
    "it slips": ["how-to/simulation/symptoms"],
    "set friction of one geom": ["how-to/simulation/geom_friction"],
    "save a video": ["how-to/simulation/videos"],
    "gradient of a run": ["how-to/derivatives"],
    "randomize mass per world": ["how-to/simulation/randomize"],
    "cite": ["how-to/cite"],
    "what does friction_limit mean": ["how-to/troubleshooting"],
}
