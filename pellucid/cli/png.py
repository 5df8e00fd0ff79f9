"""Writing PNG pictures from NumPy arrays with nothing but zlib (https://www.w3.org/TR/png-3/)."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, COLOUR = 0, 2


def encode_png(pixels: np.ndarray) -> bytes:
    """The PNG file of a uint8 array: (height, width) is grey, (height, width, 3) is colour."""
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (3,)):
        raise ValueError(f"expected uint8, (height, width) or (height, width, 3), got {pixels.dtype} {pixels.shape}")
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + pixels[0].size), dtype=np.uint8)  # each row starts with its filter: 0, none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, GREY if pixels.ndim == 2 else COLOUR, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    return SIGNATURE + b"".join(chunk(kind, content) for kind, content in parts)


def chunk(kind: bytes, content: bytes) -> bytes:
    """Length, kind, content and checksum: the unit a PNG file is made of."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def data_address(png: bytes) -> str:
    """The picture as an address that an HTML page can show without another file."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
