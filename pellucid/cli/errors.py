"""The error that a command ends with: one line for the user, without a traceback."""


class CommandError(Exception):
    """The user asked for what cannot be done; the message says why and what to do instead."""
