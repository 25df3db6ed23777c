"""Digits as files of text, for tests of training in rounds."""

from sklearn.datasets import load_digits

X, Y = load_digits(return_X_y=True)
X = X / 16
TRAIN = slice(0, 1400)


def lines(kind):
    """The training rows as text."""
    start, label = (1, "{} ") if kind == "svm" else (1, "{} | ")
    name = "{}:{}" if kind == "svm" else "x{}:{}"
    return [
        label.format(y) + " ".join(name.format(j + start, v) for j, v in enumerate(row) if v)
        for row, y in zip(X[TRAIN], Y[TRAIN], strict=True)
    ]


def write_files(folder):
    """Write the training rows: all as svmlight and VW text, and thirds."""
    for kind in ("svm", "vw"):
        (folder / f"all.{kind}").write_text("\n".join(lines(kind)) + "\n")
    for k in range(3):
        (folder / f"third{k}.vw").write_text("\n".join(lines("vw")[k * 467 : (k + 1) * 467]) + "\n")
    return folder
