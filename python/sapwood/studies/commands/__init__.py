"""Subcommands of ``sapwood`` that run studies."""
