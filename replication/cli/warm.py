"""`epochlog warm`."""

import typer

from replication.cli.output import EXIT_FAILED, JsonOption, complain, print_json


def warm(*, json: JsonOption = False) -> None:
    """Compile the kernels now, so that later commands start at full speed.

    Compiled code is kept on disk; the last lines print where. Exit status 2 if some of it cannot be kept.

    Example: epochlog warm
    """
    from epoch.kernel_cache import could_keep_all, used_directories
    from logstore.warm import warm as compile_kernels

    timings = compile_kernels()
    # Not what others are writing at the moment: it gets another name before anyone can look at it.
    kept = {str(each): sum(file.stat().st_size for file in each.glob("*.nbc")) for each in used_directories()}
    if json:
        kernels = [{"kernel": name, "seconds": round(seconds, 3)} for name, seconds in timings]
        places = [{"directory": place, "bytes": size} for place, size in kept.items()]
        print_json({"kernels": kernels, "kept": places, "all_kept": bool(kept) and could_keep_all()})
    else:
        for name, seconds in timings:
            print(f"{name:<40}{seconds:8.3f} s")
        print(f"{len(timings)} kernels are ready, after {sum(seconds for _, seconds in timings):.1f} s")
        for directory, size in kept.items():
            print(f"{size / 1e6:.1f} MB of machine code in {directory}")
    if kept and could_keep_all():
        return
    some, rest = ("not all", "the rest") if kept else ("no", "it")
    complain(f"{some} machine code was kept: each process compiles {rest} anew")
    raise typer.Exit(EXIT_FAILED)
