"""The options by which commands mask what is in records."""

from pathlib import Path
from typing import Annotated

import typer

from logstore.text.mask_salt import mask_salt
from logstore.text.record_mask import PARTS, MaskForm, RecordMask

MaskOption = Annotated[
    str | None,
    typer.Option(
        "--mask",
        metavar="PARTS",
        help="Mask what is in records: keys, values (with headers and their names), or keys,values.",
        show_default=False,
    ),
]
MaskFormOption = Annotated[
    MaskForm | None,
    typer.Option(
        "--mask-as",
        metavar="FORM",
        help="What stands in their place: hash, which is keyed and the same for the same content, or length. "
        "[default: hash]",
        show_default=False,
    ),
]
MaskSaltOption = Annotated[
    Path | None,
    typer.Option(
        "--mask-salt",
        metavar="FILE",
        help="The hash's key, for the same masks in several runs; also by EPOCHLOG_MASK_SALT. By default a random one.",
        show_default=False,
    ),
]


def mask_of(parts: str | None, form: MaskForm | None, salt: Path | None, *, share: bool = False) -> RecordMask | None:
    """Return what the options say; None where nothing is masked. Raises BadParameter, MaskSaltError and OSError.

    With `share` all is masked, whatever is named.
    """
    if share:
        parts = ",".join(PARTS)
    if parts is None:
        if form is not None or salt is not None:
            option = "--mask-salt" if form is None else "--mask-as"
            raise typer.BadParameter(
                "nothing is masked; name what is to be, such as --mask keys,values", param_hint=option
            )
        return None
    if form is MaskForm.LENGTH and salt is not None:
        raise typer.BadParameter("a length has no salt; leave one of the two out", param_hint="--mask-salt")
    key = None if form is MaskForm.LENGTH else mask_salt(salt)
    try:
        return RecordMask.of(parts, form or MaskForm.HASH, key)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--mask") from error
