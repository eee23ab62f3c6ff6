r"""Text from files and of their names, made fit to be seen: on a terminal, in a table, on a page.

A file may be called anything: with line ends, with what a terminal obeys, or with bytes that are no text at all, which
Python has as lone surrogates and no encoder takes.
"""

from logstore.batch.record_lines import escape
from logstore.text.address_secrets import redacted


def shown(text: str) -> str:
    r"""Return printable text as it is, and else its bytes, those that are not printable ASCII as \xNN.

    What is secret in addresses is left out.

    >>> shown("orders-0"), shown("\x1b[31mred"), shown("\udcff.log")
    ('orders-0', '\\x1b[31mred', '\\xff.log')
    """
    text = redacted(text)
    return text if text.isprintable() else escape(_bytes_of(text)).decode()


def _bytes_of(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # half a pair of UTF-16, which is no file's byte
        return text.encode(errors="surrogatepass")
