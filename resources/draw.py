"""Draws every icon of the app from one description of shapes: `python resources/draw.py`.

Lines of a log and a mark beside them that says what is happening: a dot while recording, two bars while
paused, an exclamation mark when something needs a look. Standard library only; equal bytes on every machine,
and a test draws them again to see that what is committed is what this draws.
"""

from __future__ import annotations

import math
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
POINTS = 18  # of a menu bar image; its shapes are told in these
Shape = tuple[str, float, float, float, float, float]  # what, x1, y1, x2, y2, radius
Colour = tuple[int, int, int, int]


def bar(x1: float, y1: float, x2: float, y2: float, radius: float) -> Shape:
    """A line with round ends."""
    return ("bar", x1, y1, x2, y2, radius)


LINES = (bar(2.6, 4.4, 15.4, 4.4, 1.0), bar(2.6, 9, 8.6, 9, 1.0), bar(2.6, 13.6, 7.4, 13.6, 1.0))
STATES: dict[str, tuple[Shape, ...]] = {
    "recording": (*LINES, bar(13.2, 11.3, 13.2, 11.3, 2.7)),
    "paused": (*LINES, bar(11.9, 9.4, 11.9, 13.4, 0.95), bar(14.7, 9.4, 14.7, 13.4, 0.95)),
    "attention": (*LINES, bar(13.2, 8.2, 13.2, 11.4, 1.05), bar(13.2, 14.2, 13.2, 14.2, 1.05)),
}
# Sizes of an .icns: the type of each picture and its pixels.
ICNS = (("ic11", 32), ("ic12", 64), ("ic07", 128), ("ic13", 256), ("ic08", 256), ("ic14", 512),
        ("ic09", 512), ("ic10", 1024))  # fmt: skip
TOP, BOTTOM, INK = (22, 119, 240), (8, 72, 176), (255, 255, 255)


def distance(shape: Shape, x: float, y: float) -> float:
    """How far a point is from the edge of a shape; negative inside."""
    _, x1, y1, x2, y2, radius = shape
    dx, dy = x2 - x1, y2 - y1
    length = dx * dx + dy * dy
    along = 0.0 if length == 0 else max(0.0, min(1.0, ((x - x1) * dx + (y - y1) * dy) / length))
    return math.hypot(x - x1 - along * dx, y - y1 - along * dy) - radius


def coverage(shapes: tuple[Shape, ...], x: float, y: float, pixel: float) -> float:
    """How much of a pixel the shapes cover."""
    nearest = min(distance(shape, x, y) for shape in shapes)
    return max(0.0, min(1.0, 0.5 - nearest / pixel))


def png(size: int, paint: Callable[[int, int], Colour]) -> bytes:
    """A picture of `size` by `size` pixels."""
    rows = b"".join(
        b"\0" + b"".join(struct.pack("4B", *paint(x, y)) for x in range(size)) for y in range(size)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", size, size, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def template(shapes: tuple[Shape, ...], size: int) -> bytes:
    """Black and nothing: the system colours it."""
    pixel = POINTS / size

    def paint(x: int, y: int) -> Colour:
        return (0, 0, 0, round(255 * coverage(shapes, (x + 0.5) * pixel, (y + 0.5) * pixel, pixel)))

    return png(size, paint)


def pdf(shapes: tuple[Shape, ...]) -> bytes:
    """The same shapes as lines with round caps, which is what they are."""
    strokes = "".join(
        f"{2 * radius:g} w {x1:g} {POINTS - y1:g} m {x2:g} {POINTS - y2:g} l S\n"
        for _, x1, y1, x2, y2, radius in shapes
    )
    content = f"0 G 1 J\n{strokes}".encode()
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {POINTS} {POINTS}]/Contents 4 0 R/Resources<<>>>>".encode(),
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    )
    made, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return made + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
        % (len(objects) + 1, table, len(objects) + 1, len(made))
    )


def app_icon(size: int) -> bytes:
    """The app's own icon: the lines and the dot in white on a rounded tile, inside the usual margin."""
    pixel = 1024 / size
    tile = (bar(312, 312, 712, 312, 200), bar(312, 712, 712, 712, 200), bar(312, 312, 312, 712, 200),
            bar(712, 312, 712, 712, 200), bar(412, 512, 612, 512, 300))  # fmt: skip
    scale, left, top = 35.0, 197.0, 197.0
    ink = tuple(
        bar(left + x1 * scale, top + y1 * scale, left + x2 * scale, top + y2 * scale, radius * scale)
        for _, x1, y1, x2, y2, radius in STATES["recording"]
    )

    def paint(x: int, y: int) -> Colour:
        across, down = (x + 0.5) * pixel, (y + 0.5) * pixel
        alpha = coverage(tile, across, down, pixel)
        if alpha == 0:
            return (0, 0, 0, 0)
        share, white = max(0.0, min(1.0, (down - 112) / 800)), coverage(ink, across, down, pixel)
        mixed = [
            round((one + (two - one) * share) * (1 - white) + three * white)
            for one, two, three in zip(TOP, BOTTOM, INK, strict=True)
        ]
        return (mixed[0], mixed[1], mixed[2], round(255 * alpha))

    return png(size, paint)


def icns(pictures: dict[int, bytes]) -> bytes:
    parts = b"".join(
        kind.encode() + struct.pack(">I", len(pictures[size]) + 8) + pictures[size] for kind, size in ICNS
    )
    return b"icns" + struct.pack(">I", len(parts) + 8) + parts


def drawings(largest: int = 1024) -> dict[str, bytes]:
    """Every file that this draws, by its name below resources/. `largest` leaves out what takes long."""
    made: dict[str, bytes] = {}
    for state, shapes in STATES.items():
        made[f"menu/{state}Template.png"] = template(shapes, POINTS)
        made[f"menu/{state}Template@2x.png"] = template(shapes, 2 * POINTS)
        made[f"menu/{state}Template.pdf"] = pdf(shapes)
    if largest >= 256:
        made["FazmMemory.png"] = app_icon(256)
    if largest >= 1024:
        made["FazmMemory.icns"] = icns({size: app_icon(size) for size in {size for _, size in ICNS}})
    return made


def main() -> int:
    for name, data in drawings().items():
        path = HERE / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        print(f"{path.relative_to(HERE.parent)}: {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
