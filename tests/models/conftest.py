"""Makes the package importable: the installed one, or that of the build tree
which FLAMBEAU_PYTHON names (the folder that holds `flambeau/`)."""

import os
import sys

if (folder := os.environ.get("FLAMBEAU_PYTHON")) is not None:
    sys.path.insert(0, folder)
