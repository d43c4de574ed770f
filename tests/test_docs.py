"""What the documents say is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "altopt"
LAB = ROOT / "lab" / "altopt_lab"


def test_every_module_is_named_in_the_architecture():
    page = (ROOT / "docs" / "architecture.md").read_text()
    modules = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    modules += [path.relative_to(LAB.parent).as_posix() for path in LAB.rglob("*.py")]
    missing = [name for name in modules if not name.endswith("__init__.py") and f"`{name}`" not in page]
    assert not missing
    named = set(re.findall(r"`([a-z_/]+\.py)`", page))
    assert named <= set(modules)


def test_every_module_opens_with_a_sentence():
    for path in PACKAGE.rglob("*.py"):
        assert re.match(r'""".+?[.:]( |"""|\n)', path.read_text(), re.DOTALL), path


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_readmes_python_runs(number, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 3
    names: dict = {}
    for block in (
        blocks[: number + 1] if number == 1 else blocks[number : number + 1]
    ):  # 1 goes on where 0 ends
        exec(compile(block, "README.md", "exec"), names)
    if number == 0:
        right = float(re.search(r"right: ([\d.]+)%", capsys.readouterr().out)[1])
        assert right > 80


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_the_results_page_is_what_the_records_say():
    from altopt_lab.experiments.page import page
    from altopt_lab.records import read_records

    records = read_records(ROOT / "results" / "runs.jsonl")
    assert records
    assert (ROOT / "docs" / "results.md").read_text() == page(records)


def test_the_performance_page_is_what_the_records_say():
    from altopt_lab.bench.page import page
    from altopt_lab.records import read_records

    records = read_records(ROOT / "results" / "bench.jsonl")
    assert (ROOT / "docs" / "performance.md").read_text() == page(records)


def test_no_benchmark_is_favoured_inside_the_package():
    """One default for all: names of benchmark graphs appear only where data is read, experiments and benches run."""
    names = re.compile(
        r"\b(cora|citeseer|pubmed|physics|computers|photo|chameleon|squirrel)\b", re.IGNORECASE
    )
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] not in ("datasets", "experiments", "bench"):
            assert not names.search(path.read_text()), path


def test_the_page_on_suggestions_is_what_the_records_say():
    from altopt_lab.experiments.suggest import page
    from altopt_lab.records import read_records

    records = read_records(ROOT / "results" / "suggest.jsonl")
    assert (ROOT / "docs" / "suggest.md").read_text() == page(records)
