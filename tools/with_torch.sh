#!/usr/bin/env bash
# An environment with a release of torch, and what the tests need besides.
set -euo pipefail
base=${1:?usage: tools/with_torch.sh VENV RELEASE ENVIRONMENT} release=${2:?} made=${3:?}

"$base/bin/python" -m venv "$made"
install() { "$made/bin/python" -m pip install -q --disable-pip-version-check "$@"; }
install "torch==$release"
grep -v '^torch==' tests/requirements.txt | install -r /dev/stdin
touch "$made/.stamp"
