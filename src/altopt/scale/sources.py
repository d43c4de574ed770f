"""The datasets of a problem past memory, checked together before any of them is read."""

from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from altopt.errors import InputError
from altopt.graph.files import NAMES, ColumnNames
from altopt.scale.dataset import Dataset, family
from altopt.scale.text_tables import header, to_parquet
from altopt.table.files import features_of, is_list

Columns = tuple[str, ...]


@dataclass(frozen=True)
class Sources:
    """Edges, features and labels, and what their columns are called.

    Text tables are written as Parquet before anything is asked of them; only then is it known what their ids are.
    """

    edges: Dataset
    features: Dataset | None
    labels: Dataset
    names: ColumnNames = NAMES
    id_kind: str = ""  # positions, whole or text, once that is known
    text_labels: bool = False  # labels of a text table, whose type is told when all are known

    @classmethod
    def open(cls, edges: Any, features: Any, labels: Any, names: ColumnNames = NAMES) -> "Sources":
        """The datasets; labels None: they are a column of the features."""
        if labels is None and features is None:
            raise InputError("no labels: give --labels, or --features that have them in a column (--label).")
        found_features = None if features is None else Dataset.open(features)
        found_labels = found_features if labels is None else Dataset.open(labels)
        assert found_labels is not None
        if labels is None and found_labels.kind == "array":
            raise InputError(f"{features} is a matrix, which holds no labels: give --labels.")
        sources = cls(Dataset.open(edges), found_features, found_labels, names)
        sources.check()
        return sources

    @property
    def positional(self) -> bool:
        """Whether nodes are known by position, as rows of an array are."""
        return self.edges.kind == "array" or (self.features is not None and self.features.kind == "array")

    @property
    def weight(self) -> str | None:
        """The column of weights, where there is one."""
        if self.edges.kind == "array":
            return None
        columns = header(self.edges.files[0]) if self.edges.kind == "text" else self.edges.columns
        return self.names.weight if self.names.weight in columns else None

    @property
    def feature_columns(self) -> list[str]:
        """The columns of X in the files; an array has none."""
        if self.features is None or self.features.kind == "array":
            return []
        columns = header(self.features.files[0]) if self.features.kind == "text" else self.features.columns
        labels = {self.names.label} if self.labels is self.features else set()
        return [name for name in features_of(columns) if name not in labels | {self.names.node}]

    @property
    def n_edges(self) -> int:
        """Rows of edges; of text tables an estimate."""
        if self.edges.kind == "array":
            return sum(max(array.shape) for array in self.edges.arrays)
        return self.edges.estimated_rows

    @property
    def id_columns(self) -> list[tuple[Dataset, str]]:
        """Every column of ids."""
        columns = [(self.edges, self.names.source), (self.edges, self.names.target)]
        columns += [(self.labels, self.names.node)]
        if self.features is not None and self.features is not self.labels:
            columns += [(self.features, self.names.node)]
        return [(table, name) for table, name in columns if table.kind != "array"]

    @property
    def key(self) -> str:
        """What the files and names are."""
        tables = [self.edges.key, "" if self.features is None else self.features.key, self.labels.key]
        return blake2b(repr((tables, self.names)).encode(), digest_size=16).hexdigest()

    def check(self) -> None:
        """Refuse columns that are missing or of types that cannot be taken, and ids of different types."""
        names = self.names
        explicit = (names.weight,) if names.weight != NAMES.weight else ()
        self._require(self.edges, (names.source, names.target, *explicit))
        if self.edges.kind == "array" and any(2 not in array.shape for array in self.edges.arrays):
            shape = self.edges.arrays[0].shape
            raise InputError(
                f"{self.edges.name} must hold pairs of positions, (E, 2) or (2, E); its shape is {shape}."
            )
        self._require(self.labels, (names.node, names.label))
        if self.features is not None:
            self._require(self.features, (names.node,))
            self._check_features(self.features)
        self._check_ids()

    def _require(self, table: Dataset, columns: tuple[str, ...]) -> None:
        if table.kind == "parquet":
            table.require(columns)
        elif table.kind == "text":
            from altopt.graph.tables import choose

            choose(header(table.files[0]), columns, (), table.name)

    def _check_features(self, table: Dataset) -> None:
        if table.kind == "array":
            return
        if not self.feature_columns:
            raise InputError(
                f"{table.name} has no feature beside {self.names.node!r}; add a column for each feature."
            )
        if table.kind == "parquet":
            for name in self.feature_columns:
                kind = table.schema.field(name).type
                numbers = family(kind) in ("whole", "fractional", "bool")
                if not numbers and not (self.feature_columns == ["features"] and is_list(kind)):
                    raise InputError(
                        f"{table.name}, column {name!r}, holds {kind}; a fit past memory takes columns of numbers: "
                        "encode or drop it, or fit without --memory."
                    )

    def _check_ids(self) -> dict[str, str]:
        """The types of ids in Parquet files, each with a place: whole numbers in all or text in all."""
        found = {}
        for table, name in self.id_columns:
            if table.kind == "parquet":
                kind = family(table.schema.field(name).type)
                if kind not in ("whole", "text"):
                    held = table.schema.field(name).type
                    raise InputError(
                        f"{table.name}, column {name!r}, holds {held}; ids past memory are whole numbers or text."
                    )
                found[kind] = f"{table.name}, column {name!r}"
        if len(found) > 1:
            raise InputError(
                f"ids are whole numbers in {found['whole']}, but text in {found['text']}; write them alike."
            )
        if self.positional and "text" in found:
            raise InputError(
                f"ids in {found['text']} are text, but nodes are the rows of an array: give positions."
            )
        return found

    @property
    def text_tables(self) -> dict[str, tuple[Columns, Columns, Columns]]:
        """Which of the tables are text, and of each its columns of ids, of text and of numbers."""
        names = self.names
        found: dict[str, tuple[Columns, Columns, Columns]] = {}
        if self.edges.kind == "text":
            found["edges"] = (names.source, names.target), (), (self.weight,) if self.weight else ()
        if self.features is not None and self.features.kind == "text":
            labels = (names.label,) if self.labels is self.features else ()
            found["features"] = (names.node,), labels, tuple(self.feature_columns)
        if self.labels.kind == "text" and self.labels is not self.features:
            found["labels"] = (names.node,), (names.label,), ()
        return found

    def convert(self, folder: Path) -> bool:
        """Write text tables as Parquet; returns whether all of their ids are whole numbers."""
        converted = [
            to_parquet(getattr(self, role), *columns, folder / role)
            for role, columns in self.text_tables.items()
        ]
        return all(converted)

    def converted(self, folder: Path, whole: bool) -> "Sources":
        """These sources with Parquet in place of text tables."""
        tables: dict[str, Any] = {
            role: replace(Dataset.open(folder / role), name=getattr(self, role).name)
            for role in self.text_tables
        }
        if self.labels is self.features and "features" in tables:
            tables["labels"] = tables["features"]
        given = self._check_ids()
        if self.text_tables and not whole and (self.positional or "whole" in given):
            where = given.get("whole", "an array")
            raise InputError(
                f"ids in text tables are not all whole numbers, but those of {where} are; write them alike."
            )
        kind = (
            "positions"
            if self.positional
            else "whole"
            if "whole" in given or (whole and not given)
            else "text"
        )
        return replace(self, **tables, id_kind=kind, text_labels=self.labels.kind == "text")
