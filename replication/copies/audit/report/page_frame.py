"""What all pages have in common: style, script, and the policy that lets nothing else run."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from replication.copies.audit.report.lineage import style_sheet


def policy(style: str, script: str) -> str:
    """Return a content security policy that allows this script and this style, and nothing from a file's name.

    `style` and `script` are the texts of the two elements, to the last line end. Nothing is asked for from elsewhere.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash_of(script)}",
            f"style-src {_hash_of(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def framed(title: str, body: Sequence[str]) -> str:
    """Make a page that needs nothing beside itself."""
    style, script = f"\n{_resource('style.css')}{style_sheet()}", f"\n{_resource('page.js')}"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
            *body,
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
