"""Every benchmark graph by name: the location, reader and publisher of its raw files."""

from altopt.datasets import open_graph
from altopt.datasets.download import FromAddress, FromGeometric, FromOGB
from altopt.datasets.raw import (
    Source,
    read_facebook,
    read_geom_gcn,
    read_heterophilous,
    read_npz,
    read_planetoid,
)
from altopt.datasets.saint import read_flickr, read_reddit

PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
HETEROPHILOUS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"


def planetoid(name: str, note: str) -> Source:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    files = tuple(f"ind.{name.lower()}.{part}" for part in parts)
    folder = f"planetoid/{name}/raw"
    return Source(name, folder, files, read_planetoid, note, FromAddress(PLANETOID, folder, files))


def wikipedia(name: str) -> Source:
    tables = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
    files = tables + tuple(f"{name}_split_0.6_0.2_{i}.npz" for i in range(10))
    note = (
        "Wikipedia pages and their links, which have a direction. Holds duplicated nodes that leak from "
        f"training to test: report {name}-filtered beside it."
    )
    origin = FromGeometric("WikipediaNetwork", "wikipedia_network", {"name": name})
    return Source(name, f"wikipedia_network/{name}/geom_gcn/raw", files, read_geom_gcn, note, origin)


def webkb(name: str) -> Source:
    tables = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
    files = tables + tuple(f"{name.lower()}_split_0.6_0.2_{i}.npz" for i in range(10))
    note = f"Pages of a computer science department ({name}) and their links, which have a direction."
    origin = FromGeometric("WebKB", "webkb", {"name": name})
    return Source(name, f"webkb/{name.lower()}/raw", files, read_geom_gcn, note, origin)


def heterophilous(name: str, file: str, note: str) -> Source:
    folder, files = f"heterophilous/{file}/raw", (f"{file}.npz",)
    return Source(name, folder, files, read_heterophilous, note, FromAddress(HETEROPHILOUS, folder, files))


def filtered(name: str) -> Source:
    return heterophilous(f"{name}-filtered", f"{name}_filtered", f"{name} without its duplicated nodes.")


def facebook(name: str) -> Source:
    note = (
        "Students of a school and their friendships; the class is gender, unknown for some (-1), the other columns "
        "of the profile as 0/1. No split given; random ones of 50/25/25 % are usual."
    )
    origin = FromGeometric("LINKXDataset", "linkx", {"name": name})
    return Source(name, f"linkx/{name}/raw", ("data.mat",), read_facebook, note, origin)


def npz(name: str, kind: str, file: str, note: str) -> Source:
    note += " Features are 0/1; no split given."
    origin = FromGeometric(kind, kind.lower(), {"name": name})
    return Source(name, f"{kind.lower()}/{name}/raw", (file,), read_npz, note, origin)


def ogb(name: str, split: str, directed: bool, note: str) -> Source:
    folder = name.replace("-", "_")
    read = open_graph.read_directed if directed else open_graph.read_undirected
    return Source(name, folder, open_graph.files(split), read, note, FromOGB(name), also=(f"ogb/{folder}",))


SOURCES = [
    planetoid("Cora", "Machine learning papers and their citations."),
    planetoid("CiteSeer", "Computing papers and their citations; 15 have no words and count as class 0."),
    planetoid("PubMed", "Diabetes papers and their citations; TF-IDF words."),
    npz("CS", "Coauthor", "ms_academic_cs.npz", "Computer scientists who wrote papers together."),
    npz("Physics", "Coauthor", "ms_academic_phy.npz", "Physicists who wrote papers together."),
    npz("Computers", "Amazon", "amazon_electronics_computers.npz", "Computer goods bought together."),
    npz("Photo", "Amazon", "amazon_electronics_photo.npz", "Photo goods bought together."),
    wikipedia("chameleon"),
    wikipedia("squirrel"),
    filtered("chameleon"),
    filtered("squirrel"),
    heterophilous(
        "Tolokers",
        "tolokers",
        "Workers of a crowdsourcing site who shared a task; banned or not (22 %): report ROC AUC.",
    ),
    facebook("amherst41"),
    facebook("reed98"),
    webkb("Wisconsin"),
    Source(
        "Reddit",
        "reddit/raw",
        ("reddit_data.npz", "reddit_graph.npz"),
        read_reddit,
        "Posts that the same people commented on; training nodes come first in time.",
        FromGeometric("Reddit", "reddit"),
        also=("Reddit/raw",),
    ),
    Source(
        "Flickr",
        "flickr/raw",
        ("adj_full.npz", "feats.npy", "class_map.json", "role.json"),
        read_flickr,
        "Images that share a place, a gallery or a commenter.",
        FromGeometric("Flickr", "flickr"),
        also=("Flickr/raw",),
    ),
    ogb("ogbn-arxiv", "time", True, "Computer science papers and their citations, split by year."),
    ogb("ogbn-products", "sales_ranking", False, "Goods bought together, split by how well they sell."),
]
