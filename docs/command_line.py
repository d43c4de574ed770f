"""Write docs/command_line.md from the commands themselves: python docs/command_line.py."""

from pathlib import Path

import typer

PAGE = Path(__file__).with_suffix(".md")

OPENING = """# Command line

`altopt COMMAND --help` prints the same. This page is written from the commands by `python docs/command_line.py`.

Tables in and out are Parquet or CSV with your own node ids, which are kept through to the output (numbers
or text; other types are refused before the work). MODEL is the folder
that `altopt fit --out` wrote, or the `model` folder in it.

| exit code | meaning |
|--:|---|
| 0 | done |
| 2 | the input or the call is wrong: one line on stderr names the file, row or column and the way out |
| 2 | a disk cannot be written; what was there before is whole |
| 1 | an internal error in altopt; `ALTOPT_TRACEBACK=1` shows where |
| 130, 143, 129 | stopped by Ctrl-C, SIGTERM or SIGHUP; `altopt fit` goes on with `--resume` |
| 141 | whoever read the output has gone, as in `altopt suggest MODEL \\| head -1` |

| environment variable | meaning |
|---|---|
| `ALTOPT_DATA` | folder of the benchmark graphs |
| `ALTOPT_KERNELS` | kernels to use: `native`, `scipy` or `torch:<device>` |
| `ALTOPT_TRACEBACK` | `1`: show the traceback of an internal error |
"""

FROM_LAB = """
## Commands of altopt-lab

Benchmarks and the paper's experiments are a package of their own, `pip install -e lab` in a checkout.
"""


def core_commands():
    """The commands of altopt, each with its name; those of a group one by one."""
    from altopt.cli.main import app

    others = [name for name, _ in lab_commands()]
    for name, command in typer.main.get_command(app).commands.items():
        if f"altopt {name}" in others:
            continue
        for part, nested in getattr(command, "commands", {"": command}).items():
            yield f"altopt {name} {part}".strip(), nested


def lab_commands():
    from altopt_lab.commands.bench import bench
    from altopt_lab.commands.reproduce import reproduce

    lab = typer.Typer()
    lab.command()(bench)
    lab.command()(reproduce)
    for name, command in typer.main.get_command(lab).commands.items():
        yield f"altopt {name}", command


def cell(text):
    return " ".join(str(text or "").split()).replace("|", "\\|")


def default_of(parameter):
    if parameter.required:
        return "required"
    default = parameter.default
    if default in (None, False, (), []) or callable(default):
        return ""
    return f"`{getattr(default, 'value', default)}`"


def section(name, command):
    """One command: what it does, how it is called, its arguments and options."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join(
        [name, *(cell(p.metavar or p.name.upper()) for p in arguments), "[OPTIONS]" * bool(options)]
    )
    lines = [f"## {name}", "", cell(command.help), "", "```text", usage.strip(), "```"]
    if arguments:
        lines += ["", "| argument | meaning |", "|---|---|"]
        lines += [f"| `{p.metavar or p.name.upper()}` | {cell(p.help)} |" for p in arguments]
    if options:
        lines += ["", "| option | meaning | default |", "|---|---|---|"]
        lines += [
            f"| {', '.join(f'`{name}`' for name in [*p.opts, *p.secondary_opts])} | {cell(p.help)} | {default_of(p)} |"
            for p in options
        ]
    return "\n".join(lines) + "\n"


def page():
    core = [section(name, command) for name, command in core_commands()]
    lab = [section(name, command).replace("## ", "### ", 1) for name, command in lab_commands()]
    return "\n".join([OPENING, *core]) + FROM_LAB + "\n" + "\n".join(lab)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
