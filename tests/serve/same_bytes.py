"""Whether a served model is, byte for byte, the one that ``confidently train`` makes of the same rows."""

from confidently.serve.model.served import ServedModel
from tests.serve.rows import examples, trained

QUESTIONS = (b'{"a":1,"zzz":4,"subject":"new"}', b'{"subject":"win"}', b"{}")


def saved(model, folder):
    path = folder / "served.cw"
    model.model().save(path)
    return path.read_bytes()


def learn_in_pieces(model, rows, chance, largest):
    """Learn rows in slices of random lengths, with questions in between."""
    at = 0
    while at < len(rows):
        n = chance.randint(1, largest)
        model.learn(rows[at : at + n])
        at += n
        if chance.random() < 0.3:
            model.answers(QUESTIONS)
    return model


def check_same_bytes(folder, settings, rows, options, chance, largest, weights=None):
    """Compare a model that learns rows in pieces with the one that training makes; return it."""
    model = learn_in_pieces(ServedModel(settings), examples(rows, weights), chance, largest)
    assert saved(model, folder) == trained(folder, rows, *options, weights=weights)
    return model
