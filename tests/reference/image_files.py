#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes small images of every kind into images/ beside this script, and what Pillow and torchvision read from them:

    python3 tests/reference/image_files.py

images/*.png, *.jpg  the files; PNGs are written here, as Pillow writes neither interlaced ones nor all depths
images/pixels.txt    lines `FILE CHANNELS HEIGHT WIDTH BYTES`: Image.open(FILE).convert("RGB" or "L"), in hexadecimal digits
images/fitted.txt    lines `FILE FIT HEIGHT WIDTH BYTES`: the file at other extents

It needs numpy, Pillow and torchvision.
"""
import pathlib
import struct
import zlib

import numpy
import torchvision
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent / "images"
HEIGHT, WIDTH = 11, 13
GREY, COLOUR, PALETTE, GREY_ALPHA, COLOUR_ALPHA = 0, 2, 3, 4, 6  # PNG's numbers of colour types
SAMPLES = {GREY: 1, COLOUR: 3, PALETTE: 1, GREY_ALPHA: 2, COLOUR_ALPHA: 4}
PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]  # Adam7: y, x, steps


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed_rows(values, bits):
    """Rows of samples (height, width, samples) as PNG has them, each after the number of its filter; rows 1, 2 … use all filters."""
    height = len(values)
    if bits == 16:
        rows = values.astype(">u2").reshape(height, -1).view(numpy.uint8)
    elif bits == 8:
        rows = values.astype(numpy.uint8).reshape(height, -1)
    else:
        digits = numpy.unpackbits(values.astype(numpy.uint8).reshape(height, -1, 1), axis=2)[..., 8 - bits:]
        rows = numpy.packbits(digits.reshape(height, -1), axis=1)
    distance = max(1, values.shape[2] * bits // 8)
    out, above = b"", numpy.zeros(rows.shape[1], int)
    for y, row in enumerate(rows.astype(int)):
        left, corner = (numpy.concatenate([numpy.zeros(distance, int), r])[:len(row)] for r in (row, above))
        nearest = left + above - corner
        paeth = numpy.where((abs(nearest - left) <= abs(nearest - above)) & (abs(nearest - left) <= abs(nearest - corner)), left,
                            numpy.where(abs(nearest - above) <= abs(nearest - corner), above, corner))
        guess = [0 * row, left, above, (left + above) // 2, paeth][y % 5]
        out += bytes([y % 5]) + ((row - guess) % 256).astype(numpy.uint8).tobytes()
        above = row
    return out


def write_png(name, colour, bits, values, interlaced=False, before=b""):
    values = values.reshape(*values.shape[:2], SAMPLES[colour])
    height, width = values.shape[:2]
    parts = [values[y::down, x::right] for y, x, down, right in PASSES] if interlaced else [values]
    data = b"".join(packed_rows(part, bits) for part in parts if part.size)
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, int(interlaced))
    (FOLDER / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", zlib.compress(data, 9)) +
                                chunk(b"IEND", b""))


def picture(height, width, samples, most):
    """Waves with an edge, in 0 … most."""
    y, x, c = numpy.meshgrid(numpy.arange(height), numpy.arange(width), numpy.arange(samples), indexing="ij")
    waves = numpy.sin(0.31 * y * (c + 1) + 0.2 * x) + numpy.cos(0.43 * x - 0.17 * y * c) + (x + y > width) * 0.8
    return numpy.round((waves + 2) / 4.8 * most).astype(int)


def write_pngs():
    for bits in (1, 2, 4, 8, 16):
        write_png(f"grey_{bits}.png", GREY, bits, picture(HEIGHT, WIDTH, 1, 2**bits - 1))
    for bits in (1, 2, 4, 8):
        colours = picture(2**bits, 3, 1, 255).astype(numpy.uint8).tobytes()
        write_png(f"palette_{bits}.png", PALETTE, bits, picture(HEIGHT, WIDTH, 1, 2**bits - 1), before=chunk(b"PLTE", colours))
    palette = chunk(b"PLTE", picture(16, 3, 1, 255).astype(numpy.uint8).tobytes()) + chunk(b"tRNS", bytes([0, 90, 200]))
    write_png("palette_transparent.png", PALETTE, 4, picture(HEIGHT, WIDTH, 1, 15), before=palette)
    for bits in (8, 16):
        write_png(f"colour_{bits}.png", COLOUR, bits, picture(HEIGHT, WIDTH, 3, 2**bits - 1))
        write_png(f"grey_alpha_{bits}.png", GREY_ALPHA, bits, picture(HEIGHT, WIDTH, 2, 2**bits - 1))
        write_png(f"colour_alpha_{bits}.png", COLOUR_ALPHA, bits, picture(HEIGHT, WIDTH, 4, 2**bits - 1))
    write_png("grey_transparent.png", GREY, 8, picture(HEIGHT, WIDTH, 1, 255), before=chunk(b"tRNS", struct.pack(">H", 120)))
    gamma = chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"tEXt", b"Title\0waves")
    write_png("colour_gamma.png", COLOUR, 8, picture(HEIGHT, WIDTH, 3, 255), before=gamma)
    write_png("interlaced.png", COLOUR, 8, picture(HEIGHT, WIDTH, 3, 255), interlaced=True)
    write_png("interlaced_1.png", GREY, 1, picture(HEIGHT, WIDTH, 1, 1), interlaced=True)
    write_png("interlaced_palette.png", PALETTE, 4, picture(HEIGHT, WIDTH, 1, 15), interlaced=True, before=palette)
    write_png("dot.png", GREY, 8, numpy.array([[77]]), interlaced=True)


def write_jpegs():
    colour = Image.fromarray(picture(21, 35, 3, 255).astype(numpy.uint8))
    turned = Image.Exif()
    turned[0x0112] = 6  # the orientation: a quarter to the right
    colour.save(FOLDER / "colour.jpg", quality=90)
    colour.save(FOLDER / "colour_444.jpg", quality=70, subsampling=0, optimize=True)
    colour.save(FOLDER / "progressive.jpg", quality=80, progressive=True)
    colour.save(FOLDER / "turned.jpg", quality=50, exif=turned)
    colour.convert("L").save(FOLDER / "grey.jpg", quality=85)
    Image.fromarray(picture(9, 10, 4, 255).astype(numpy.uint8), "CMYK").save(FOLDER / "ink.jpg", quality=90)


def as_line(name, *words, image):
    return " ".join([name, *map(str, words), str(image.height), str(image.width), image.tobytes().hex()]) + "\n"


def write_pixels():
    lines = ""
    for path in sorted(FOLDER.glob("*.[pj]*g")):
        for channels, mode in ((3, "RGB"), (1, "L")):
            with Image.open(path) as image:
                if path.name == "grey_16.png":  # Pillow cuts its values off at 255
                    image = Image.fromarray((numpy.asarray(image).astype(int) // 256).astype(numpy.uint8))
                lines += as_line(path.name, channels, image=image.convert(mode))
    (FOLDER / "pixels.txt").write_text(lines)


def write_fitted():
    lines = ""
    with Image.open(FOLDER / "colour_8.png") as image:
        for height, width in ((11, 5), (4, 13), (3, 4), (8, 8), (1, 1), (20, 30), (30, 7)):
            lines += as_line("colour_8.png", "scale", image=image.resize((width, height), Image.Resampling.BILINEAR))
        for side in (1, 2, 5, 6, 7, 8, 9, 16):
            cut = torchvision.transforms.Compose([torchvision.transforms.Resize(side), torchvision.transforms.CenterCrop(side)])
            lines += as_line("colour_8.png", "crop", image=cut(image))
        for name in ("grey_8.png",):
            with Image.open(FOLDER / name) as grey:
                lines += as_line(name, "scale", image=grey.resize((6, 5), Image.Resampling.BILINEAR))
    (FOLDER / "fitted.txt").write_text(lines)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_pngs()
    write_jpegs()
    write_pixels()
    write_fitted()
