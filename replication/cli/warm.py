"""`epochlog warm`."""

from replication.cli.output import JsonOption, print_json


def warm(*, json: JsonOption = False) -> None:
    """Compile the kernels now, so that later commands start at full speed.

    Compiled code is kept on disk. Example: epochlog warm
    """
    from logstore.kernels.warm import warm as compile_kernels

    timings = compile_kernels()
    if json:
        print_json([{"kernel": name, "seconds": round(seconds, 3)} for name, seconds in timings])
        return
    for name, seconds in timings:
        print(f"{name:<40}{seconds:8.3f} s")
    print(f"{len(timings)} kernels are ready, after {sum(seconds for _, seconds in timings):.1f} s")
