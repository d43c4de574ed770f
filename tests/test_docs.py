"""The documents: every Python block runs, every command and link exists, and generated pages are up to date."""

import ast
import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

import own_view
from customers import customers, few
from problems import two_communities

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "altopt"
LAB = ROOT / "lab" / "altopt_lab"
PAGES = {path.name: path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]}


def blocks(page, *languages):
    """The fenced blocks of a page in one of these languages ("" is none)."""
    fences = re.findall(r"^ *```([^\n]*)\n(.*?)^ *```", PAGES[page].read_text(), re.DOTALL | re.MULTILINE)
    return [dedent(body) for language, body in fences if language.strip() in languages]


@cache
def script(name):
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# code


def names_for(page):
    """What a page takes as given: the one on views shows parts of an example whose imports it leaves out."""
    if page != "adding_a_view.md":
        return {}
    X, y, _, A = two_communities()
    return vars(own_view) | {"X": X, "y": y, "graph": A, "__name__": page}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    """All blocks of a page, one after another, in one namespace."""
    monkeypatch.chdir(tmp_path)
    names = names_for(page)
    if page == "README.md":
        truth = write_customers()
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page}, block {number + 1}", "exec"), names)
    if page == "README.md":
        assert (names["model"].predict(names["customers"]) == truth).mean() > 0.8


def write_customers():
    """The files of the reader of the README, in the current folder; returns the segment of every customer."""
    table, segment, edges = customers()
    table.assign(segment=segment.where(segment.index.isin(few(segment).index))).to_csv("customers.csv")
    edges.to_csv("friends.csv", index=False)
    return segment


def test_the_guide_has_code():
    assert all(blocks(page, "python") for page in ("README.md", "getting_started.md", "choosing_parts.md"))


@cache
def commands():
    """Command -> its options, of altopt and altopt_lab."""
    page = script("command_line")
    named = [*page.core_commands(), *page.lab_commands()]
    return {
        name: {
            option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]
        }
        for name, command in named
    }


def calls(page):
    """Lines and inline code that begin with `altopt`."""
    if page in (
        "results.md",
        "performance.md",
        "suggest.md",
        "breadth.md",
        "honesty.md",
        "reliability.md",
    ):  # generated
        return []
    lines = [line for block in blocks(page, "", "bash", "sh", "console") for line in block.splitlines()]
    lines += re.findall(
        r"`(altopt [^`]+)`", re.sub(r"```.*?```", "", PAGES[page].read_text(), flags=re.DOTALL)
    )
    return [line.strip() for line in lines if re.match(r"\s*altopt [a-z]", line)]


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page):
    for call in calls(page):
        words = shlex.split(call.replace("'", ""), comments=True)
        group = words[1] == "datasets"
        name = " ".join(words[: 3 if group else 2])
        if group and len(words) == 2:
            continue
        assert name in commands(), f"{page}: {call}"
        options = {
            word.split("=")[0].strip("(),:[]") for word in words[2:] if re.match(r"[(\[]*--?[a-z]", word)
        }
        assert options <= commands()[name] | {"--help"}, f"{page}: {call}"


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, path in PAGES.items():
        text = path.read_text()
        named = set(re.findall(r"`make ([a-z]+)`", text)) | set(
            re.findall(r"^make ([a-z]+)", text, re.MULTILINE)
        )
        assert named <= targets, page


# pages


def test_links_between_pages_lead_somewhere():
    for page in PAGES.values():
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_every_page_is_in_the_contents():
    contents = set(re.findall(r"^([a-z_]+)$", PAGES["index.md"].read_text(), re.MULTILINE))
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= contents


def test_every_module_is_named_in_the_architecture():
    page = PAGES["architecture.md"].read_text()
    modules = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    modules += [path.relative_to(LAB.parent).as_posix() for path in LAB.rglob("*.py")]
    missing = [name for name in modules if not name.endswith("__init__.py") and f"`{name}`" not in page]
    assert not missing
    named = set(re.findall(r"`([a-z_/]+\.py)`", page))
    assert named <= set(modules)


def test_a_symbol_stands_in_one_row_of_the_notation():
    rows = re.findall(r"^\| `([^`]+)`", PAGES["notation.md"].read_text(), re.MULTILINE)
    assert len(rows) > 20
    assert len(rows) == len(set(rows))


# generated


def test_the_tables_of_the_architecture_are_what_the_modules_say():
    """`python docs/modules.py` brings them up to date."""
    assert PAGES["architecture.md"].read_text() == script("modules").page()


def test_the_page_on_the_command_line_is_what_the_commands_say():
    assert PAGES["command_line.md"].read_text() == script("command_line").page()


def test_the_pictures_are_what_the_script_draws(tmp_path, monkeypatch):
    pictures = script("pictures")
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    pictures.draw_all()
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    assert drawn == {path.name: path.read_text() for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    shown = set(re.findall(r"pictures/(\w+\.svg)", PAGES["concepts.md"].read_text()))
    assert shown == set(drawn)


def test_the_results_page_is_what_the_records_say():
    """By the code that it states: who changes code need not write the page anew, who changes records must."""
    from altopt_lab.experiments.page import stated_code, written
    from altopt_lab.provenance import code

    text = PAGES["results.md"].read_text()
    assert set(stated_code(text)) == set(code())
    assert text == written(ROOT / "results" / "runs.jsonl", stated_code(text))


def test_the_performance_page_is_what_the_records_say():
    from altopt_lab.bench.page import page
    from altopt_lab.records import read_records

    records = [
        line for name in ("bench", "scale") for line in read_records(ROOT / "results" / f"{name}.jsonl")
    ]
    assert PAGES["performance.md"].read_text() == page(records)


def test_the_page_on_breadth_is_what_the_records_say():
    from altopt_lab.breadth.page import page
    from altopt_lab.records import read_records

    assert PAGES["breadth.md"].read_text() == page(read_records(ROOT / "results" / "breadth.jsonl"))


def test_the_page_on_suggestions_is_what_the_records_say():
    from altopt_lab.experiments.suggest import page
    from altopt_lab.records import read_records

    records = read_records(ROOT / "results" / "suggest.jsonl")
    assert PAGES["suggest.md"].read_text() == page(records)


def test_the_page_on_honesty_is_what_the_records_say():
    from altopt_lab.experiments.honesty_report import page
    from altopt_lab.records import read_records

    assert PAGES["honesty.md"].read_text() == page(read_records(ROOT / "results" / "honesty.jsonl"))


def test_the_page_on_reliability_is_what_the_records_say():
    """`python -m altopt_lab.trust --report` brings it up to date."""
    from altopt_lab.records import read_records
    from altopt_lab.trust.page import page

    records = read_records(ROOT / "results" / "trust.jsonl")
    assert PAGES["reliability.md"].read_text() == page(records)


# one default for all


def test_a_fit_cannot_know_which_data_set_it_is_given():
    """Only the command line reads data sets, and no string in the package is the name of one."""
    from altopt.datasets.sources import SOURCES

    names = {source.name.lower() for source in SOURCES}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        if room == "datasets":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and room != "cli":
                assert not (node.module or "").startswith("altopt.datasets"), path
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value.lower() not in names, f"{path}: {node.value}"
