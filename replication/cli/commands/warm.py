"""`epochlog warm`."""

from pathlib import Path
from typing import Annotated

import typer

from replication.cli.judging.shipped_replicas import shipped_replicas
from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.printing import EXIT_FAILED, JsonOption, complain, print_json


def warm(
    *,
    spark: Annotated[
        bool,
        typer.Option("--spark", help="Also keep the classes that Spark loads, so that audits with Spark start faster."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compile the kernels now, so that later commands start at full speed.

    Compiled code is kept on disk; the last lines print where. Where it came with the installation nothing is compiled.
    Exit status 2 if some of it cannot be kept, and where there is none and the extra `compile` is not installed.

    With --spark, Spark is started once, and the classes that Java has loaded for it are kept as well; later audits with
    Spark, and sessions of start_session, use them. That takes half a minute and 100 MB of disk.

    Examples:
      epochlog warm
      epochlog warm --spark
    """
    from epoch.compiling.kernel_files import could_keep_all, used_directories
    from epoch.compiling.shipped_code import DIRECTORY, shipped
    from logstore.warming.warm import warm as compile_kernels

    try:
        timings = compile_kernels()
    except ModuleNotFoundError as error:
        raise MissingPackageError("compiled kernels need", error, "compile") from error
    # Not what others are writing at the moment: it gets another name before anyone can look at it.
    kept = {str(each): _size(each) for each in ([DIRECTORY] if shipped() else used_directories())}
    all_kept = bool(kept) and could_keep_all()
    if json:
        kernels = [{"kernel": name, "seconds": round(seconds, 3)} for name, seconds in timings]
        places = [{"directory": place, "bytes": size} for place, size in kept.items()]
        archive = _class_archive() if spark else None
        of_classes = archive and {"file": str(archive), "bytes": archive.stat().st_size}
        print_json({"kernels": kernels, "kept": places, "all_kept": all_kept, "class_archive": of_classes})
    else:
        for name, seconds in timings:
            print(f"{name:<40}{seconds:8.3f} s")
        print(f"{len(timings)} kernels are ready, after {sum(seconds for _, seconds in timings):.1f} s")
        for directory, size in kept.items():
            print(f"{size / 1e6:.1f} MB of machine code in {directory}")
        if spark:
            archive = _class_archive()
            print(f"{archive.stat().st_size / 1e6:.1f} MB of Spark's classes in {archive}")
    if all_kept:
        return
    some, rest = ("not all", "the rest") if kept else ("no", "it")
    complain(f"{some} machine code was kept: each process compiles {rest} again")
    raise typer.Exit(EXIT_FAILED)


def _class_archive() -> Path:
    """Return the archive from which Spark starts, made now unless it is there. Raises its errors."""
    try:
        from replication.copies.audit.spark.archive_making import make_archive
        from replication.copies.audit.spark.sessions.spark_failure import SPARK_ERRORS, cause_of
    except ModuleNotFoundError as error:
        raise MissingPackageError("an audit with Spark needs", error, "spark") from error
    try:
        with shipped_replicas() as place:
            return make_archive(sorted((place / "diverged").iterdir()))
    except SPARK_ERRORS as error:
        raise CommandError(f"the Spark job failed: {cause_of(error)}") from error


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for form in ("*.nbc", "*.o", "*.all", "*.so") for file in directory.glob(form))
