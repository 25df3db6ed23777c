"""Options of Vowpal Wabbit, and what to use instead of each."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise

import click

_COSTS = "costs of classes are not available"
_BANDIT = "use confidently train --bandit FILE"
_STEP = "there is no learning rate; the rule sets the step (--rule)"
_MULTICLASS = "the labels determine the classes; --multiclass one-vs-rest trains one classifier per class"
_PAIRS = "use --pairs A,B, with whole names of namespaces"
_CACHE = "use --cache FILE, which is rebuilt when the data change"
_TEST = "use confidently predict MODEL FILE or confidently evaluate MODEL FILE"
_RULE = "use --rule NAME; confidently rules lists them"
_REGULARIZE = "no rule regularizes weights; --prior-variance limits the first steps"
_TREE = "trees of classes are not available; use --multiclass"
_HOLDOUT = "use --holdout FRACTION, which is off by default"
_INSPECT = "use confidently inspect MODEL"

# What to do instead of an option, by all of its names.
INSTEAD = {
    ("-d", "--data"): "pass the files as arguments: confidently train FILE",
    ("-f", "--final_regressor"): "use -o MODEL",
    ("-i", "--initial_regressor"): "use confidently train --init-model MODEL, or confidently predict MODEL FILE",
    ("-t", "--testonly"): _TEST,
    ("-p", "--predictions"): "use confidently predict MODEL FILE -o FILE",
    ("-r", "--raw_predictions"): "use confidently predict --margin",
    ("-b", "--bit_precision"): "use --bits N",
    ("-l", "--learning_rate", "--power_t", "--initial_t", "--decay_learning_rate"): _STEP,
    ("-c", "--cache_file", "-k", "--kill_cache"): _CACHE,
    ("-q", "--quadratic"): _PAIRS,
    ("--interactions", "--cubic"): "use --pairs A,B; products of more than two namespaces are not available",
    ("--oaa", "--ect", "--oaa_subsample"): _MULTICLASS,
    ("--log_multi", "--plt", "--recall_tree", "--memory_tree"): _TREE,
    ("--csoaa", "--csoaa_ldf", "--wap_ldf", "--cs_active"): _COSTS,
    ("--cb", "--cb_explore"): "use confidently train --bandit FILE --actions K",
    ("--cb_adf", "--cb_explore_adf", "--cb_type", "--ccb_explore_adf", "--cbify", "--slates"): _BANDIT,
    ("--multilabel_oaa",): "use --multilabel",
    ("--loss_function", "--sgd", "--adaptive", "--ftrl", "--pistol", "--coin", "--bfgs", "--svrg", "--freegrad"): _RULE,
    ("--link", "--probabilities"): "use confidently predict --proba",
    ("--l1", "--l2"): _REGULARIZE,
    ("--holdout_off", "--holdout_period", "--holdout_after"): _HOLDOUT,
    ("--early_terminate",): "use --early-stop --patience N",
    ("--noconstant",): "use --no-intercept",
    ("--ngram",): "use --ngrams 1-N on text (--text COLUMN, or --format text)",
    ("--save_resume",): "nothing is needed: every model continues with --init-model",
    ("--invert_hash", "--readable_model"): _INSPECT,
    ("-a", "--audit"): "use confidently inspect MODEL --row ROW",
    ("--daemon",): "use confidently predict MODEL -, which answers line by line",
    ("-P", "--progress"): "progress is reported automatically; -q omits it",
    ("--random_seed",): "use --seed N with --shuffle",
    ("--binary",): "nothing is needed: two labels make a binary classifier",
    ("--named_labels",): "use --classes NAMES",
    ("--top",): "use confidently predict --ranking",
    ("--classweight",): "use --weight COLUMN, or importances in the data",
    ("--dsjson", "--chain_hash"): "use --format jsonl, and for decisions train --bandit",
    ("--csv",): "use --format csv",
    ("--lda",): "use confidently topics train",
    ("--ksvm",): "use OnlineClassifier with a kernel covariance in Python",
    ("--nn",): "networks are not available; use --view cosines or --view pairs",
    ("--active",): "use confidently.active in Python",
    ("--bootstrap", "--confidence"): "use confidently predict --std",
    ("--boosting",): "nothing is needed: several learners are mixed",
    ("--sort_features",): "nothing is needed: rows are sorted",
    ("--hash",): "names are always hashed whole, or kept with --vocabulary",
}
BY_NAME = {name: instead for names, instead in INSTEAD.items() for name in names}
PAGE = "'Migrating from Vowpal Wabbit' in the documentation lists all of its options"


def explained(error: click.NoSuchOption) -> click.UsageError:
    """Return the error of an unknown option, or what to do instead if it is one of Vowpal Wabbit."""
    if (instead := BY_NAME.get(error.option_name)) is None:
        return error
    return click.UsageError(f"{error.option_name} is an option of Vowpal Wabbit; here, {instead}; {PAGE}", error.ctx)


def check_quadratic(ctx: click.Context, arguments: Sequence[str]) -> None:
    """Reject ``-q ab``, which multiplies namespaces in Vowpal Wabbit, where ``-q`` is ``--quiet``.

    Raises
    ------
    click.UsageError
        If initials of namespaces follow the option, and not a file.
    """
    for option, value in pairwise(arguments):
        if option == "-q" and re.fullmatch("[A-Za-z:]{2}", value) and not os.path.exists(value):
            raise click.UsageError(f"-q is --quiet; for {option} {value} of Vowpal Wabbit, {_PAIRS}; {PAGE}", ctx)
