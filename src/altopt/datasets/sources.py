"""Every benchmark graph by name: the location, reader and publisher of its raw files."""

from altopt.datasets import open_graph
from altopt.datasets.download import FromAddress, FromGeometric, FromOGB
from altopt.datasets.raw import Source, read_filtered, read_geom_gcn, read_npz, read_planetoid
from altopt.datasets.saint import read_flickr, read_reddit

PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
FILTERED = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"


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


def filtered(name: str) -> Source:
    note = f"{name} without its duplicated nodes."
    folder, file = f"heterophilous/{name}_filtered/raw", f"{name}_filtered.npz"
    return Source(
        f"{name}-filtered", folder, (file,), read_filtered, note, FromAddress(FILTERED, folder, (file,))
    )


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
