"""The exceptions of the package. Each has the message that the `supple` program would print."""


class SuppleError(Exception):
    """The base of all errors of this package, except for wrong types, which are `TypeError`."""


class InvalidInput(SuppleError, ValueError):
    """An invalid scene, mesh, matrix or argument; the message gives the item, its value and the remedy."""


class FileError(SuppleError, OSError, ValueError):
    """A file that cannot be read, parsed or written; the message gives the file and the line or byte."""


class NotSupported(SuppleError, NotImplementedError):
    """Features of the scene format that the chosen solver does not support yet."""


class SimulationFailed(SuppleError, RuntimeError):
    """A step that failed, or a state that is no longer finite."""
