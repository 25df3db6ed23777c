"""The rows of the compiled readers of lines, for a text cut anywhere, as plain Python."""

from itertools import pairwise

from confidently.data import ReaderOptions
from confidently.data.features import Strings
from confidently.data.formats.lines import Parsers, pieces
from confidently.data.request import ReadRequest
from confidently.data.sources.compression import Chunk


def parsers_of(how=None, n=2, **request):
    """``n`` parsers of one stream; ``how`` are ReaderOptions, the others attributes of ReadRequest."""
    return Parsers(ReaderOptions(**(how or {})), ReadRequest(**request), n)


def pieces_of(parsers, text, cuts=()):
    edges = [0, *sorted(cut for cut in cuts if cut <= len(text)), len(text)]
    return [piece for piece, _ in parsers.rows(pieces(Chunk(text[a:b], b) for a, b in pairwise(edges)))]


def rows_of(parsers, text, cuts=()):
    """(labels, weight, {feature: value}, kept) of every row; features by name if named, otherwise by column."""
    labels_there, names, rows = [], [], []
    for piece in pieces_of(parsers, text, cuts):
        labels_there += [int(name) if number else name.decode() for name, number, _, _ in piece["new_labels"]]
        _, keys, new_names = piece["new_features"]
        names += Strings(*new_names)
        assert len(keys) == len(Strings(*new_names))
        start, label_start = piece["start"], piece["label_start"]
        kept = [list(Strings(*strings)) for strings in piece["kept"]]
        for i in range(len(start) - 1):
            columns = piece["columns"][start[i] : start[i + 1]].tolist()
            assert columns == sorted(set(columns))
            values = piece["values"][start[i] : start[i + 1]].tolist()
            features = dict(zip([names[c] for c in columns] if names else columns, values, strict=True))
            assert len(features) == len(columns)
            labels = [labels_there[k] for k in piece["labels"][label_start[i] : label_start[i + 1]]]
            weight = 1.0 if piece["weights"] is None else piece["weights"][i]
            rows.append((labels, weight, features, *[strings[i] for strings in kept]))
    return rows
