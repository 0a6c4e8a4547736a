"""A hook of MkDocs: the files outside docs/ that pages link to become part of the site, so that no link leads out of it."""

import re
from pathlib import Path

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[1]
_OUTWARD = re.compile(r"\]\(\.\./([^)#\s]+)")


def on_files(files, config):
    pages = [file for file in files if file.src_uri.endswith(".md")]
    linked = {link for page in pages for link in _OUTWARD.findall(page.content_string)}
    for link in sorted(linked):
        path = ROOT / link
        if path.is_file():
            files.append(File.generated(config, f"files/{link}", abs_src_path=str(path), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown, page, config, files):
    return _OUTWARD.sub(r"](files/\1", markdown)
