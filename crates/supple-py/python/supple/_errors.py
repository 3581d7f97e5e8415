"""The exceptions of the package. Each has the words that the `supple` program would print."""


class SuppleError(Exception):
    """Everything that goes wrong in this package, but for wrong types, which are `TypeError`."""


class InvalidInput(SuppleError, ValueError):
    """A scene, mesh, matrix or argument that cannot be taken; the message names it, its value and the remedy."""


class FileError(SuppleError, OSError, ValueError):
    """A file that cannot be read, understood or written; the message names it and the line or byte."""


class NotSupported(SuppleError, NotImplementedError):
    """Words of the scene format that the chosen solver cannot do yet."""


class SimulationFailed(SuppleError, RuntimeError):
    """A step that failed, or a state that is no longer finite."""
