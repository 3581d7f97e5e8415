"""Pictures for notebooks."""

from __future__ import annotations

import os
from pathlib import Path


class Picture:
    """A picture in memory. Notebooks display it; `save` writes it to a PNG file."""

    def __init__(self, png: bytes) -> None:
        self.png = png

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file whose name ends in .png."""
        if Path(path).suffix.lower() != ".png":
            raise ValueError(f"{os.fspath(path)}: a picture's name must end in .png")
        Path(path).write_bytes(self.png)

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"<supple.Picture, {len(self.png)} bytes of PNG>"
