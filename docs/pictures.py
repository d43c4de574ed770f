"""Draw the pictures of docs/concepts.md from a worked example: python docs/pictures.py."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).with_name("pictures")
BLUE, ORANGE, GREY = "#3f86c9", "#d97f26", "#8a939e"
LAMBDA1, LAMBDA2 = 0.5, 2.0

# the example: two triangles joined by an edge; one label on either side, features that are wrong about node 3
PLACES = np.array([(60, 60), (60, 160), (140, 110), (250, 110), (330, 60), (330, 160)], dtype=float)
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]
P = np.array([(0.7, 0.3), (0.6, 0.4), (0.65, 0.35), (0.6, 0.4), (0.3, 0.7), (0.35, 0.65)])
LABELS = {0: 0, 4: 1}


def solved(labels, edges=EDGES):
    """F and G = H^-1 of the example, H = (1 + lambda1) I + lambda2 M - A~, from the definitions."""
    n = len(P)
    A = np.zeros((n, n))
    for i, j in edges:
        A[i, j] = A[j, i] = 1.0
    root = 1 / np.sqrt(A.sum(axis=1))
    M = np.diag([1.0 if k in labels else 0.0 for k in range(n)])
    Y = np.array([np.eye(2)[labels[k]] if k in labels else np.zeros(2) for k in range(n)])
    G = np.linalg.inv((1 + LAMBDA1) * np.eye(n) + LAMBDA2 * M - root[:, None] * A * root)
    return G @ (LAMBDA1 * P + LAMBDA2 * Y), G, Y


class Picture:
    """An SVG that takes its text colour from the page around it."""

    def __init__(self, width, height, title):
        self.size, self.title, self.items = (width, height), title, []

    def add(self, item):
        self.items.append(item)

    def text(self, x, y, words, size=14, anchor="middle", weight="normal", color="currentColor", opacity=1.0):
        self.add(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{color}" opacity="{opacity:g}">{words}</text>'
        )

    def box(self, x, y, width, height, color, title, lines=()):
        self.add(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10" fill="{color}" fill-opacity="0.12" '
            f'stroke="{color}" stroke-width="1.5"/>'
        )
        top = y + height / 2 - 9 * len(lines) + 5
        self.text(x + width / 2, top, title, 15, weight="bold")
        for k, line in enumerate(lines):
            self.text(x + width / 2, top + 20 * (k + 1), line, 13)

    def line(self, x1, y1, x2, y2, color=GREY, width=1.5, arrow=False, dashed=False, opacity=1.0):
        head = ' marker-end="url(#head)"' if arrow else ""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.add(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}" stroke-width="{width:g}" '
            f'opacity="{opacity:g}"{head}{dash}/>'
        )

    def circle(self, x, y, radius, color, filled=True, opacity=1.0, width=1.5):
        fill = f'fill="{color}" fill-opacity="{opacity:g}"' if filled else 'fill="none"'
        self.add(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" {fill} stroke="{color}" stroke-width="{width:g}"/>'
        )

    def bar(self, x, y, width, height, color, opacity=0.85):
        self.add(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{color}" '
            f'fill-opacity="{opacity:g}"/>'
        )

    def write(self, name):
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" class="picture" '
            f'aria-label="{self.title}" font-family="system-ui, sans-serif" style="max-width: {width}px">\n'
            f"<title>{self.title}</title>\n"
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="{GREY}"/></marker></defs>\n'
        )
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.svg").write_text(head + "\n".join(self.items) + "\n</svg>\n", encoding="utf-8")


def graph(picture, x, y, colors, opacities, edges=EDGES, names=True, scale=1.0):
    places = PLACES * scale + (x, y)
    for i, j in edges:
        picture.line(*places[i], *places[j])
    for k, (place, color, opacity) in enumerate(zip(places, colors, opacities)):
        picture.add(f'<circle cx="{place[0]:g}" cy="{place[1]:g}" r="15" class="page"/>')
        picture.circle(*place, 15, color, opacity=opacity, width=2)
        if names:
            picture.text(place[0], place[1] + 5, k, 13)
    return places


def alternation():
    picture = Picture(760, 330, "Three views of F, and the two steps that alternate")
    picture.box(20, 20, 200, 76, BLUE, "features", ["P = encoder(X')"])
    picture.box(280, 20, 200, 76, GREY, "graph", ["A~, the edges"])
    picture.box(540, 20, 200, 76, ORANGE, "labels", ["Y, a few nodes"])
    picture.box(255, 210, 250, 96, GREY, "F: soft labels", ["one row per node,", "one column per class"])
    picture.line(120, 98, 262, 206, BLUE, 2)
    picture.line(380, 98, 380, 206, GREY, 2)
    picture.line(640, 98, 498, 206, ORANGE, 2)
    picture.text(243, 150, "lambda1 ||P - F||²", 13, anchor="start")
    picture.text(392, 135, "tr(F' (I - A~) F)", 13, anchor="start")
    picture.text(590, 178, "lambda2 ||F_L - Y_L||²", 13, anchor="start")
    picture.add(
        f'<path d="M252 258 C 120 258 60 200 60 102" fill="none" stroke="{BLUE}" stroke-width="2" '
        'stroke-dasharray="6 4" marker-end="url(#head)"/>'
    )
    picture.text(20, 285, "2. train the encoder on F,", 13, anchor="start")
    picture.text(20, 303, "    each node by its certainty", 13, anchor="start")
    picture.text(525, 265, "1. solve for F with P fixed:", 13, anchor="start")
    picture.text(525, 283, "a sparse linear system", 13, anchor="start")
    picture.write("alternation")


def letters():
    F, _, Y = solved(LABELS)
    picture = Picture(760, 330, "P, Y and F of the six nodes of the example")
    graph(
        picture,
        0,
        60,
        [(BLUE, ORANGE)[LABELS[k]] if k in LABELS else GREY for k in range(6)],
        [0.45 if k in LABELS else 0.08 for k in range(6)],
    )
    picture.text(60, 100, "label a", 12, color=BLUE)
    picture.text(330, 100, "label b", 12, color=ORANGE)
    picture.text(195, 290, "edges and two labels", 14)
    for column, (name, what, values) in enumerate(
        [("P", "what features say", P), ("Y", "the known labels", Y), ("F", "all three views", F)]
    ):
        x = 430 + 115 * column
        picture.text(x + 40, 28, name, 16, weight="bold")
        picture.text(x + 40, 48, what, 12)
        for k, (a, b) in enumerate(values):
            y, total = 68 + 40 * k, max(1.0, a + b)
            picture.text(x - 14, y + 17, k, 12, opacity=0.7)
            if a + b == 0:
                picture.line(x, y + 13, x + 80, y + 13, GREY, 1, dashed=True)
                continue
            picture.bar(x, y, 80 * a / total, 24, BLUE)
            picture.bar(x + 80 * a / total, y, 80 * b / total, 24, ORANGE)
    before, after = P[3, 0] > P[3, 1], F[3, 0] > F[3, 1]
    assert before
    assert not after  # the text of concepts.md says so
    picture.text(195, 312, "node 3: its features say a, F says b", 13, opacity=0.85)
    picture.write("letters")


def leave_one_out():
    F, G, _ = solved(LABELS)
    without, _, _ = solved({4: 1})
    g = G[0, 0]
    identity = (F[0] - LAMBDA2 * g * np.array([1.0, 0.0])) / (1 - LAMBDA2 * g)
    assert np.allclose(identity, without[0])
    picture = Picture(760, 190, "Node 0 with its label, and with the label taken out in two ways")
    for k, (words, formula, row) in enumerate(
        [
            ("with its own label", "F_0", F[0]),
            ("label taken out", "(F_0 - lambda2 g y) / (1 - lambda2 g)", identity),
            ("refitted without the label", "F_0 of another solve", without[0]),
        ]
    ):
        x = 20 + 250 * k
        picture.text(x + 110, 28, words, 15, weight="bold")
        picture.text(x + 110, 50, formula, 13)
        for c, color in enumerate((BLUE, ORANGE)):
            y = 70 + 42 * c
            picture.bar(x, y, 180 * row[c], 30, color)
            picture.text(x + 180 * row[c] + 8, y + 20, f"{row[c]:.3f}", 13, anchor="start")
    picture.text(505, 100, "=", 22)
    picture.text(260, 178, f"g = G_00 = {g:.3f}, from the solve that is there already", 13, anchor="start")
    picture.write("leave_one_out")


def ledger():
    F, G, Y = solved(LABELS)
    node = 3
    amounts = [(f"label of {k}", LAMBDA2 * G[node, k] * Y[k, 1]) for k in LABELS if Y[k, 1]]
    amounts += [(f"features of {k}", LAMBDA1 * G[node, k] * P[k, 1]) for k in range(6)]
    amounts.sort(key=lambda entry: -entry[1])
    assert np.isclose(sum(amount for _, amount in amounts), F[node, 1])
    picture = Picture(760, 300, "The amounts behind the score of node 3 for class b add up to it")
    scale, start = 480 / F[node, 1], 0.0
    for k, (name, amount) in enumerate(amounts):
        y = 20 + 31 * k
        color = ORANGE if name.startswith("label") else BLUE
        picture.text(150, y + 17, name, 13, anchor="end")
        picture.bar(165 + scale * start, y, scale * amount, 22, color)
        start += amount
        picture.text(165 + scale * start + 8, y + 17, f"{amount:.3f}", 12, anchor="start")
        if k + 1 < len(amounts):
            picture.line(165 + scale * start, y + 22, 165 + scale * start, y + 31, GREY, 1)
    y = 26 + 31 * len(amounts)
    picture.line(165, y - 4, 165 + 480, y - 4, GREY, 1)
    picture.text(150, y + 19, "scores_[3], class b", 13, anchor="end", weight="bold")
    picture.bar(165, y + 3, 480, 22, GREY, 0.5)
    picture.text(653, y + 19, f"{F[node, 1]:.3f}", 13, anchor="start", weight="bold")
    picture.write("ledger")


def update():
    before, _, _ = solved(LABELS)
    labels = {**LABELS, 2: 1}
    after, _, _ = solved(labels)
    moved = np.abs(after - before).max(axis=1)
    picture = Picture(
        760, 250, "A new label at node 2 moves its neighbours, and those less that are further away"
    )
    places = graph(picture, 20, 20, [GREY] * 6, [0.08] * 6)
    picture.circle(*places[2], 22, ORANGE, filled=False, width=3)
    picture.text(places[2][0], places[2][1] + 52, "new label b", 13, color=ORANGE)
    order = np.argsort(-moved)
    picture.text(560, 28, "how far F moved", 15, weight="bold")
    for row, k in enumerate(order):
        y = 46 + 32 * row
        picture.text(440, y + 17, f"node {k}", 13, anchor="end")
        picture.bar(452, y, 220 * moved[k] / moved.max(), 22, ORANGE)
        picture.text(452 + 220 * moved[k] / moved.max() + 8, y + 17, f"{moved[k]:.3f}", 12, anchor="start")
    picture.write("update")


def draw_all():
    for draw in (alternation, letters, leave_one_out, ledger, update):
        draw()


if __name__ == "__main__":
    draw_all()
