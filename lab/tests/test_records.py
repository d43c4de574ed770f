"""Records: whole lines, whoever writes them, and work that only one process does."""

import json
import subprocess
import sys

import pytest

from altopt.errors import InputError
from altopt_lab.records import Records, read_records


def test_what_is_added_is_read_by_others(tmp_path):
    path = tmp_path / "deep" / "runs.jsonl"
    with Records(path) as one, Records(path) as other:
        one.add({"key": "a", "x": 1.5})
        assert [line["key"] for line in other.refresh()] == ["a"]
        other.add({"key": "b"})
        one.refresh()
        assert [line["key"] for line in one.lines] == ["a", "b"]
    assert [line["key"] for line in read_records(path)] == ["a", "b"]


def test_a_line_cut_short_does_not_count_and_gives_way(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key": "a"}\n{"key": "b", "settin')
    assert [line["key"] for line in read_records(path)] == ["a"]
    with Records(path) as records:
        assert len(records.lines) == 1
        records.add({"key": "c"})
    assert path.read_text() == '{"key": "a"}\n{"key": "c"}\n'


def test_a_foreign_line_is_refused_with_its_number(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key": "a"}\nhello\n')
    with pytest.raises(InputError, match="line 2"):
        read_records(path)


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--out"):
        Records(tmp_path / "file" / "runs.jsonl")


CLAIMER = """
import sys
from pathlib import Path
from altopt_lab.records import Records
with Records(Path(sys.argv[1])) as records:
    print(records.claim("work"), flush=True)
    sys.stdin.readline()
"""


def test_a_claim_holds_until_its_process_ends(tmp_path):
    path = tmp_path / "runs.jsonl"
    call = [sys.executable, "-c", CLAIMER, str(path)]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline().strip() == "True"
        with Records(path) as records:
            assert not records.claim("work")
            assert records.claim("other work")
            holder.kill()  # not even a farewell
            holder.wait()
            assert records.claim("work")


WRITER = """
import sys
from pathlib import Path
from altopt_lab.records import Records
with Records(Path(sys.argv[1])) as records:
    for k in range(100):
        records.add({"key": f"{sys.argv[2]} {k}", "filling": "x" * 3000})
"""


def test_lines_of_several_processes_stay_whole(tmp_path):
    path = tmp_path / "runs.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    lines = [json.loads(line)["key"] for line in path.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{name} {k}" for name in "ab" for k in range(100))
