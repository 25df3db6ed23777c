"""Online Bayesian Passive-Aggressive Learning, reproduced: figures, and each claim with the result."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from confidently.plots.base import line_style, tidy

from . import PAPERS
from .experiments import bayespa, text
from .experiments.bayespa import NOISY_CONTENDERS, PAIR, Noisy, Outcome
from .experiments.text_report import QUICK_TASKS, errors
from .report import Report, new_figure, setting_text
from .run import Run

TOLERANCE = 1e-9  # between weights that are the same sums in two orders
TOPICS, BATCHES, BASELINE_TOPICS = (5, 10, 20, 50, 100), (1, 8, 32, 128, 512), (5, 20)
ROUNDS = ((1, 1), (1, 3), (2, 1), (2, 3), (4, 3))
CLASSIFIERS = ("gibbs", "averaging")
GROUP_TOPICS, LABEL_TOPICS = 20, 40
QUICK_RULES = ("bayespa", "gibbs_pa", "gibbs_pa_exact", "arow", "cw_stdev")
GIBBS = ("gibbs_pa", "gibbs_pa_exact")
LOSSES = {
    "uncalibrated_log_loss": "of the uncalibrated posterior probabilities Phi(m/sqrt v)",
    "log_loss": "of the probabilities calibrated online",
}


def reproduce(run: Run) -> Report:
    """Run all experiments."""
    report = Report("bayespa2014", PAPERS["bayespa2014"], {"seed": run.seed, "quick": run.quick})
    lemma(report, run)
    noisy(report, run)
    left_out = []
    if run.has(*text.FOLDERS):
        text_tasks(report, run)
    else:
        left_out.append(f"binary tasks on text ({', '.join(text.FOLDERS)})")
    if run.has("newsgroups"):
        pair(report, run)
    else:
        left_out.append("topic models of newsgroups (newsgroups)")
    if run.has("newsgroups") and not run.quick:
        groups(report, run)
    elif run.quick:
        left_out.append("sixteen groups (too large for --quick)")
    if run.has("reuters21578") and not run.quick:
        labels(report, run)
    else:
        left_out.append("multilabel topic models (reuters21578; too large for --quick)")
    report.section(
        "Left out",
        "Only the paper's appendix was available, so the claims about streams and topics are ours, and its tables are "
        "not compared. The nonparametric topic model is not included. "
        + ("Not run: " + "; ".join(left_out) + "." if left_out else ""),
    )
    return report


def lemma(report: Report, run: Run) -> None:
    """Report Lemma 2.2."""
    n, c = run.size(2000, 300), 0.05
    (found,) = run.each("Lemma 2.2", bayespa.lemma, [(run.seed, n, c)])
    mine, theirs, difference = found
    report.section(
        "Lemma 2.2: averaging classifiers are PA-I",
        f"BayesPA with averaging classifiers, the prior N(0, I) and c = {c:g}, compared with PA-I with C = 2c, "
        "computed by its own formula, on a noisy stream.",
    )
    figure, (left, right) = new_figure(2)
    rows = np.arange(1, n + 1)
    left.plot(rows, mine, label="BayesPA, averaging", **line_style(0))
    left.plot(rows, theirs, label="PA-I", color="C1", linestyle="--")
    left.set(xlabel="rows", ylabel="cumulative mistakes")
    left.legend(frameon=False)
    right.plot(rows, difference, **line_style(2))
    right.set(xlabel="rows", ylabel="largest difference of weights")
    for ax in (left, right):
        tidy(ax)
    report.figure("lemma", "The mistakes are the same; the weights differ by rounding.", figure)
    report.claim(
        "Lemma 2.2: with the prior N(0, I), averaging classifiers are PA-I with C = 2c.",
        f"After each of {n:,} rows the weights differ by at most {difference.max():.1e}; mistakes: {mine[-1]}, "
        f"{theirs[-1]}.",
        bool(difference.max() < TOLERANCE and (mine == theirs).all()),
    )
    report.numbers["lemma"] = {"mistakes": [int(mine[-1]), int(theirs[-1])], "difference": float(difference.max())}


def noisy(report: Report, run: Run) -> None:
    """Report averaging and Gibbs classifiers on noisy streams."""
    n, streams = run.size(4000, 700), run.size(20, 4)
    values = run.each("tuning", bayespa.chosen_value, [(c, run.seed, n) for c in NOISY_CONTENDERS])
    work = [(c, v, run.seed, k, n) for c, v in zip(NOISY_CONTENDERS, values, strict=True) for k in range(streams)]
    outcomes = run.each("noisy streams", bayespa.on_noisy_stream, work)
    found = {c.name: outcomes[streams * k : streams * (k + 1)] for k, c in enumerate(NOISY_CONTENDERS)}
    report.section(
        "Noisy streams: averaging, Gibbs, Gibbs exact",
        f"{streams} streams of {n:,} points in {bayespa.DIMENSIONS} dimensions, with standard deviations that decrease "
        "geometrically from 1 to 0.05; all dimensions are equally important, and one label in ten is wrong. The "
        "parameter of each learner is the one with the fewest mistakes on another stream. Log-loss is that of the "
        "calibrated and the uncalibrated probabilities on 5,000 points.",
    )
    report.settings["chosen on another stream"] = {
        c.name: f"{c.parameter}={v:g}" for c, v in zip(NOISY_CONTENDERS, values, strict=True)
    }
    rows = [
        [name, 100 * _mean(runs, "online"), 100 * _std(runs, "online"), 100 * _mean(runs, "test"),
         _mean(runs, "log_loss"), _mean(runs, "uncalibrated_log_loss")]
        for name, runs in found.items()
    ]  # fmt: skip
    header = ["learner", "online error %", "std. deviation", "test error %", "log-loss", "uncalibrated log-loss"]
    report.table("noisy", f"Means over {streams} streams; the smallest possible test error is 10 %.", header, rows)
    figure, (left, right) = new_figure(2)
    for ax, column, title in ((left, 3, "test error (%)"), (right, 4, "log-loss")):
        ax.barh(range(len(rows)), [row[column] for row in rows], color="C0", alpha=0.8)
        ax.set_yticks(range(len(rows)), [row[0] for row in rows])
        ax.invert_yaxis()
        ax.set(xlabel=title)
        tidy(ax)
    report.figure("noisy", "Error, and log-loss of the calibrated probabilities, on the test points.", figure)
    mean = {name: _mean(runs, "test") for name, runs in found.items()}
    losses = {name: _mean(runs, "log_loss") for name, runs in found.items()}
    for measure, means, unit in (("error", mean, 100.0), ("log-loss", losses, 1.0)):
        gibbs = {name: value for name, value in means.items() if name.startswith("Gibbs")}
        listed = ", ".join(f"{name} {unit * value:.4g}" for name, value in means.items())
        report.claim(
            f"Gibbs classifiers have a lower test {measure} than averaging ones on noisy streams (ours).",
            f"Means{' in %' if unit > 1 else ''}: {listed}.",
            max(gibbs.values()) < means["averaging"],
            "" if max(gibbs.values()) < means["averaging"] else _behind(gibbs, means["averaging"]),
        )
    report.numbers["noisy"] = {row[0]: row[1:] for row in rows}


def _behind(gibbs: dict[str, float], averaging: float) -> str:
    behind = [name for name, value in gibbs.items() if value >= averaging]
    return f"{', '.join(behind)} did not; {len(gibbs) - len(behind)} of {len(gibbs)} did."


def text_tasks(report: Report, run: Run) -> None:
    """Report the log-loss of the rules on text."""
    names = list(QUICK_RULES) if run.quick else [name for name in text.GRIDS if name not in text.BATCH]
    tasks, n, max_rows = QUICK_TASKS if run.quick else list(text.TEXT_TASKS), run.size(10, 3), run.size(10**9, 800)
    rows = text.read(run, tasks, max_rows)
    chosen = text.choose(run, rows, names, n)
    scores = text.scored(run, rows, chosen, n)
    report.section(
        "Text: the log-loss of all rules",
        f"{len(tasks)} binary tasks of newsgroups, news, reviews and mails, {n}-fold cross-validation, one pass, "
        "diagonal covariance; every rule has the setting with the smallest error on a part of the training rows.",
    )
    means = {name: [float(errors(scores, name, measure).mean()) for measure in ("error", *LOSSES)] for name in names}
    order = sorted(names, key=lambda name: means[name][1])
    table = [[name, setting_text(chosen[name]), 100 * means[name][0], *means[name][1:]] for name in order]
    header = ["rule", "setting", "error %", "log-loss, uncalibrated", "log-loss, calibrated"]
    report.table("text", "Means over tasks and folds.", header, table)
    for k, (loss, probabilities) in enumerate(LOSSES.items(), start=1):
        cost = {name: mean[k] for name, mean in means.items()}
        ranked, best = sorted(names, key=cost.__getitem__), min(GIBBS, key=cost.__getitem__)
        first, other = ranked[0], next(name for name in ranked if name not in GIBBS)
        report.claim(
            f"Of all rules a Gibbs classifier has the lowest log-loss {probabilities} (ours).",
            f"{best} {means[best][k]:.4f}; the best other rule is {other}, {means[other][k]:.4f}.",
            first in GIBBS,
            ""
            if first in GIBBS
            else f"{ranked.index(best)} of {len(names)} rules are better: calibration corrects "
            "overconfident probabilities, and then the error decides.",
        )
        report.numbers[f"text {loss}"] = {name: means[name][k] for name in names}


def pair(report: Report, run: Run) -> None:
    """Report two newsgroups: number of topics, size of batches, rounds."""
    seeds = run.size(5, 2)
    assert run.data is not None  # it has the groups
    corpus = bayespa.newsgroups(run.data, PAIR)
    topics, batches = (TOPICS[:3], BATCHES[2:4]) if run.quick else (TOPICS, BATCHES)
    work: list[tuple[str, str, int | str, dict[str, Any]]]
    work = [("K", c, K, {"n_topics": K, "classifier": c}) for c in CLASSIFIERS for K in topics]
    work += [("|B|", c, b, {"n_topics": 20, "classifier": c, "batch_size": b}) for c in CLASSIFIERS for b in batches]
    work += [
        ("I, J", c, f"{i}, {j}", {"n_topics": 20, "classifier": c, "n_inner": i, "n_samples": j})
        for c in CLASSIFIERS
        for i, j in (ROUNDS[:3] if run.quick else ROUNDS)
    ]
    arguments = [(corpus, settings, run.seed + s) for *_, settings in work for s in range(seeds)]
    outcomes = run.each("topics of two newsgroups", bayespa.topic_model, arguments)
    baselines = BASELINE_TOPICS[:1] if run.quick else BASELINE_TOPICS
    lda = run.each(
        "LDA and LinearSVC", bayespa.two_steps, [(corpus, K, run.seed + s) for K in baselines for s in range(seeds)]
    )
    work += [("K", "LDA, then LinearSVC", K, {}) for K in baselines]
    outcomes += lda
    report.section(
        "Topic models: alt.atheism against talk.religion.misc",
        f"{len(corpus.y):,} training documents in one pass, {len(corpus.y_test):,} test documents, without English "
        "stop words and single letters; the estimator's defaults except for what varies. The batch baseline is "
        "scikit-learn's LDA in ten passes with a LinearSVC of the topic proportions.",
    )
    rows = [
        [what, name, value, *_score(outcomes[seeds * k : seeds * (k + 1)])]
        for k, (what, name, value, _) in enumerate(work)
    ]
    header = ["varied", "classifier", "value", "accuracy %", "std. deviation", "seconds"]
    report.table("pair", f"Means over {seeds} seeds; processor seconds of training.", header, rows)
    _pair_figure(report, rows)
    _pair_claims(report, rows)
    report.numbers["pair"] = rows


def _pair_figure(report: Report, rows: list[list[Any]]) -> None:
    figure, panels = new_figure(3, width=4.4, sharey=True)
    for ax, what in zip(panels, ("K", "|B|", "I, J"), strict=True):
        shown = [row for row in rows if row[0] == what]
        for k, (name, found) in enumerate(groupby(shown, key=lambda row: row[1])):
            _, _, values, accuracy, deviation, _ = zip(*found, strict=True)
            ax.errorbar(list(map(str, values)), accuracy, deviation, marker="o", capsize=2, label=name, **line_style(k))
        ax.set(xlabel={"K": "topics", "|B|": "documents per batch", "I, J": "rounds, samples"}[what])
        tidy(ax)
    panels[0].set(ylabel="accuracy (%)")
    panels[0].legend(frameon=False, fontsize=8)
    report.figure("pair", "Accuracy on the test part, one standard deviation over seeds.", figure)


def _pair_claims(report: Report, rows: list[list[Any]]) -> None:
    by_topics = {(name, K): accuracy for what, name, K, accuracy, *_ in rows if what == "K"}
    best = max(accuracy for (name, _), accuracy in by_topics.items() if name.startswith("LDA"))
    for name in CLASSIFIERS:
        found = {K: accuracy for (who, K), accuracy in by_topics.items() if who == name}
        report.claim(
            f"{name}: more accurate than LDA with a LinearSVC of its proportions, for any number of topics (ours).",
            "By K: " + ", ".join(f"{K}: {a:.1f} %" for K, a in found.items()) + f"; LDA at best {best:.1f} %.",
            min(found.values()) > best,
        )
    once = {(name, value): accuracy for what, name, value, accuracy, *_ in rows if what == "I, J"}
    few, more = once["averaging", "1, 1"], once["averaging", "2, 1"]
    report.claim(
        "Averaging classifiers need two rounds: in the first, topics do not depend on labels (ours).",
        f"One round: {few:.1f} %, two: {more:.1f} %.",
        more > few,
    )


def groups(report: Report, run: Run, max_rows: int = 10**9) -> None:
    """Report sixteen newsgroups, with one topic model per class."""
    assert run.data is not None  # it has the groups
    corpus = bayespa.newsgroups(run.data).cut(max_rows, run.seed)
    work = [(corpus, {"n_topics": GROUP_TOPICS, "classifier": c}, run.seed) for c in CLASSIFIERS]
    outcomes = run.each("sixteen groups", bayespa.topic_model, work)
    outcomes += run.each("sixteen groups, LDA", bayespa.two_steps, [(corpus, GROUP_TOPICS, run.seed)])
    n = len(np.unique(corpus.y))
    report.section(
        "Topic models: all groups",
        f"{n} groups, {len(corpus.y):,} training documents, one seed, K = {GROUP_TOPICS}, one topic model per class.",
    )
    _compare_with_baseline(report, "groups", "accuracy", outcomes)


def labels(report: Report, run: Run, max_rows: int = 10**9) -> None:
    """Report multilabel documents, with one topic model and one classifier per label."""
    assert run.data is not None  # it has Reuters-21578
    corpus = bayespa.reuters(run.data).cut(max_rows, run.seed)
    work = [(corpus, {"n_topics": LABEL_TOPICS, "classifier": c}, run.seed) for c in CLASSIFIERS]
    outcomes = run.each("multilabel", bayespa.topic_model, work)
    outcomes += run.each("multilabel, LDA", bayespa.two_steps, [(corpus, LABEL_TOPICS, run.seed)])
    report.section(
        "Topic models: multilabel documents",
        f"Reuters-21578, {corpus.y.shape[1]} labels, {len(corpus.y):,} training documents, one seed, "
        f"K = {LABEL_TOPICS}; the classifiers of the labels share the topics.",
    )
    _compare_with_baseline(report, "labels", "micro-F1", outcomes)


def _compare_with_baseline(report: Report, name: str, measure: str, outcomes: list[Outcome]) -> None:
    rows: list[list[Any]] = [
        [who, 100 * o.score, o.seconds] for who, o in zip((*CLASSIFIERS, "LDA, then LinearSVC"), outcomes, strict=True)
    ]
    report.table(name, f"{measure} on the test part, in %.", ["learner", f"{measure} %", "seconds"], rows)
    for who, score, _ in rows[:-1]:
        report.claim(
            f"{who}: better than LDA with a LinearSVC of its proportions (ours).",
            f"{measure} {score:.1f} % against {rows[-1][1]:.1f} %.",
            score > rows[-1][1],
        )
    report.numbers[name] = rows


def _score(outcomes: list[Outcome]) -> list[float]:
    scores = [100 * outcome.score for outcome in outcomes]
    return [float(np.mean(scores)), float(np.std(scores)), float(np.mean([o.seconds for o in outcomes]))]


def _mean(runs: list[Noisy], measure: str) -> float:
    return float(np.mean([getattr(run, measure) for run in runs]))


def _std(runs: list[Noisy], measure: str) -> float:
    return float(np.std([getattr(run, measure) for run in runs]))
