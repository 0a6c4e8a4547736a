#!/usr/bin/env bash
# An environment that sees all of another one, torch included, and has more: what FOLDER/requirements*.txt name.
# Nothing is installed into the other one.
set -euo pipefail
base=${1:?usage: tools/beside.sh VENV ENVIRONMENT FOLDER} made=${2:?} folder=${3:?}

"$base/bin/python" -m venv "$made"
purelib() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'; }
printf '%s\n' "$(purelib "$base")" "$(realpath "$base")/torchvision" > "$(purelib "$made")/beside.pth"
"$made/bin/python" -m pip install -q --disable-pip-version-check -r "$folder/requirements.txt"
"$made/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$folder/requirements-no-deps.txt"
touch "$made/.stamp"
