"""Archives whose weights are holes of a sparse file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from chains import write_large  # noqa: E402

LAYERS, WIDTH = 8, 3072
BYTES = LAYERS * WIDTH * WIDTH * 4  # 300 MB


def write_weights(path, layers=LAYERS, width=WIDTH):
    return write_large(str(path), layers, width)
