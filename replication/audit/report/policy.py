"""The page's Content-Security-Policy: its own style and script are known by their hashes, and nothing else runs."""

import base64
import hashlib


def policy(style: str, script: str) -> str:
    """Let a browser run this script, and use this style, and nothing that a file's name may have brought into the page.

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
