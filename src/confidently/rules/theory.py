"""What the papers prove about the rules: the confidence loss, bounds on mistakes, divergence between Gaussians.

Everything here is a formula on plain arrays; `docs/mathematics.md` derives the bounds. The slips of the printed
papers that it lists are put right.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .ranges import POSITIVE, UNIT, Range, check_number


def confidence_loss(margin: ArrayLike, phi: float) -> np.ndarray:
    """The loss that CW-Stdev's squared steps add up to.

    With the margin in units of its standard deviation, t = m/sqrt(v),

        l(t) = max(0, -t psi + sqrt(t^2 phi^4/4 + phi^2 xi))^2 / (phi^2 xi),

    psi = 1 + phi^2/2, xi = 1 + phi^2. It is (xi/phi^2) alpha^2 v of the step that CW-Stdev takes at (m, v).

    Parameters
    ----------
    margin : array
        t = m/sqrt(v), the mean of the margin over its standard deviation, of any shape.
    phi : float
        Standard deviations demanded, > 0.

    Returns
    -------
    ndarray
        The loss, >= 0; 0 from t = phi on, 1 at t = 0.

    Raises
    ------
    ValueError, TypeError
        If phi is not a positive number.

    Examples
    --------
    >>> confidence_loss([-1.0, 0.0, 1.0, 2.0], phi=1.0).round(3)
    array([4.5, 1. , 0. , 0. ])

    References
    ----------
    Crammer, Dredze & Pereira (NIPS 2008), eq. 23; the variance there is x' Sigma x.
    """
    check_number("confidence_loss", "phi", phi, POSITIVE)
    t = np.asarray(margin, dtype=np.float64)
    return _excess(t, phi) ** 2 / (phi**2 * (1 + phi**2))


def confidence_loss_derivative(margin: ArrayLike, phi: float) -> np.ndarray:
    """Derivative of :func:`confidence_loss` by the margin t in units of its standard deviation.

    l'(t) = 2 g g'/(phi^2 xi) with g = -t psi + R where that is positive, g' = -psi + t phi^4/(4R),
    R = sqrt(t^2 phi^4/4 + phi^2 xi).

    Parameters
    ----------
    margin, phi
        As in :func:`confidence_loss`.

    Returns
    -------
    ndarray
        The derivative, <= 0 and continuous: 0 from t = phi on.

    Examples
    --------
    >>> confidence_loss_derivative([0.0, 1.0], phi=1.0).round(3)
    array([-2.121, -0.   ])

    References
    ----------
    Crammer, Dredze & Pereira (NIPS 2008), eq. 24.
    """
    check_number("confidence_loss", "phi", phi, POSITIVE)
    t = np.asarray(margin, dtype=np.float64)
    slope = t * phi**4 / (4 * _root(t, phi)) - (1 + phi**2 / 2)
    return 2 * _excess(t, phi) * slope / (phi**2 * (1 + phi**2))


def _root(t: np.ndarray, phi: float) -> np.ndarray:
    return np.hypot(t * phi**2 / 2, phi * math.sqrt(1 + phi**2))


def _excess(t: np.ndarray, phi: float) -> np.ndarray:
    """max(0, -t psi + root), multiplied out for t > 0 so that nothing cancels near t = phi."""
    psi, xi, root = 1 + phi**2 / 2, 1 + phi**2, _root(t, phi)
    below = np.minimum(np.maximum(t, 0.0), phi)
    return np.where(t <= 0, root - t * psi, xi * (phi - below) * (phi + below) / (root + np.abs(t) * psi))


def least_multiple(margins: ArrayLike, variances: ArrayLike, phi: float) -> float:
    """By how much a separator must be multiplied to reach CW-Stdev's margin on every example.

    The least c with c m_i >= phi sqrt(v_i) for all i: the separator that makes :func:`cw_mistake_bound` smallest.

    Parameters
    ----------
    margins : array of shape (n,)
        y_i u.x_i > 0 of a separator u.
    variances : array of shape (n,)
        x_i' Sigma* x_i >= 0.
    phi : float
        Standard deviations demanded, > 0.

    Raises
    ------
    ValueError
        If a margin is not positive: the vector separates nothing then.

    Examples
    --------
    >>> least_multiple([1.0, 2.0], [0.25, 4.0], phi=1.0)
    1.0
    """
    m, v = np.asarray(margins, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if not (m > 0).all():
        raise ValueError(
            f"margins must be positive, the smallest is {m.min():g}: the data are not separated by this vector"
        )
    return float((phi * np.sqrt(v) / m).max())


def cw_mistake_bound(
    mean: ArrayLike, covariance: ArrayLike, final_covariance: ArrayLike, phi: float, prior_variance: float = 1.0
) -> float:
    """How many mistakes CW-Stdev with a full covariance can have made in a run over separable data.

        mistakes <= sum of confidence losses
                 <= (xi/phi^2) (log det(S)/det(Sigma*) + tr(S^-1 Sigma*) - d + mu*' Sigma_{n+1}^-1 mu*)

    for every Gaussian N(mu*, Sigma*) with y_i mu*.x_i >= phi sqrt(x_i' Sigma* x_i) for all i. S is the prior's
    covariance and Sigma_{n+1} the run's last.

    Parameters
    ----------
    mean : array of shape (d,)
        mu*.
    covariance, final_covariance : array of shape (d, d)
        Sigma* and Sigma_{n+1}, positive definite. Sigma* = Sigma_{n+1} is a good choice.
    phi : float
        Standard deviations demanded, > 0.
    prior_variance : float
        S = prior_variance I.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a covariance is not positive definite.

    Examples
    --------
    >>> cw_mistake_bound([2.0, 0.0], np.eye(2), np.eye(2), phi=1.0)
    8.0

    References
    ----------
    Crammer, Dredze & Pereira (NIPS 2008), Theorem 4; the factor xi/phi^2 is missing in the middle of eq. 19.
    """
    check_number("cw_mistake_bound", "phi", phi, POSITIVE)
    check_number("cw_mistake_bound", "prior_variance", prior_variance, POSITIVE)
    mu, sigma, last = (np.asarray(a, dtype=np.float64) for a in (mean, covariance, final_covariance))
    d = len(mu)
    divergence = d * math.log(prior_variance) - _log_det(sigma) + np.trace(sigma) / prior_variance - d
    _log_det(last)
    return float((1 + phi**2) / phi**2 * (divergence + mu @ np.linalg.solve(last, mu)))


def cellip_mistake_bound(
    gamma: float, a: float, n_features: int, prior_variance: float | None = None, norm: float = 1.0,
    separator_norm: float = 1.0,
) -> float:  # fmt: skip
    """How many mistakes the classical ellipsoid method can make on data separable with margin gamma.

    The ellipsoid always contains the ball of radius rho = (1 - a) gamma/R around the separator w*, and every mistake
    takes more than a fixed share of its volume:

        mistakes <= d log(p/rho^2) / (-d log(1 - t^2) + log((1+t)/(1-t))),    t = a gamma/(R sqrt(p)),

    which for any d is at most p R^2 log(p/rho^2)/(a gamma)^2.

    Parameters
    ----------
    gamma, a : float
        The rule's parameters: y_i w*.x_i >= gamma > 0 for all rows; a in (0, 1).
    n_features : int
        d >= 1, the intercept counted.
    prior_variance : float, optional
        ``p >= (|w*| + rho)^2``, so that the first ellipsoid contains the ball. Default: just that.
    norm : float
        R, the longest row's norm.
    separator_norm : float
        ``|w*|``.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For parameters outside their ranges, or a prior variance too small for the ball.

    Examples
    --------
    >>> round(cellip_mistake_bound(gamma=0.1, a=0.5, n_features=20))
    865

    References
    ----------
    Yang, Jin & Ye (ICML 2009), Theorem 3, in the form derived in docs/mathematics.md.
    """
    owner = "cellip_mistake_bound"
    _check_numbers(
        owner, gamma=(gamma, POSITIVE), a=(a, UNIT), norm=(norm, POSITIVE), separator_norm=(separator_norm, POSITIVE),
        n_features=(n_features, Range(1, math.inf, closed_low=True)),
    )  # fmt: skip
    radius = (1 - a) * gamma / norm
    least = (separator_norm + radius) ** 2
    p = least if prior_variance is None else prior_variance
    check_number(owner, "prior_variance", p, Range(least * (1 - 1e-12), math.inf, closed_low=True))
    t, d = a * gamma / (norm * math.sqrt(p)), n_features
    return d * math.log(p / radius**2) / (2 * math.atanh(t) - d * math.log1p(-t * t))


def iellip_mistake_bound(margin: float, b: float, c: float, norm: float = 1.0) -> float:
    """How many mistakes the improved ellipsoid method can make on separable data.

        mistakes <= (R/rho)^2 (1 - b)/(1 - b - c),

    the perceptron's bound times a factor.

    Parameters
    ----------
    margin : float
        rho = min y_i u.x_i > 0 of a separator u of norm 1. The rule's own gamma does not matter.
    b, c : float
        The rule's parameters, b + c < 1.
    norm : float
        R, the longest row's norm.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For parameters outside their ranges, or b + c >= 1.

    Examples
    --------
    >>> round(iellip_mistake_bound(margin=0.1, b=0.3, c=0.1), 1)
    116.7

    References
    ----------
    Yang, Jin & Ye (ICML 2009), Theorem 4, in the form derived in docs/mathematics.md.
    """
    _check_numbers("iellip_mistake_bound", margin=(margin, POSITIVE), norm=(norm, POSITIVE), b=(b, UNIT), c=(c, UNIT))
    if b + c >= 1:
        raise ValueError(f"iellip_mistake_bound: b + c must be below 1, got {b + c:g}")
    return (norm / margin) ** 2 * (1 - b) / (1 - b - c)


def iellip_margin_update_bound(margin: float, b: float, prior_variance: float = 1.0, norm: float = 1.0) -> float:
    """How many updates, and so mistakes, `iellip_margin` can make on separable data.

        updates <= (2 R/sqrt(p pi) + R^2/pi)/rho^2,    pi = (1 - b)(1 - b^2)(1 - b^3)...

    Parameters
    ----------
    margin : float
        rho = min y_i u.x_i > 0 of a separator u of norm 1. The rule's own gamma does not matter.
    b : float
        The rule's parameter, in (0, 1).
    prior_variance : float
        p.
    norm : float
        R, the longest row's norm.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For parameters outside their ranges.

    Examples
    --------
    >>> round(iellip_margin_update_bound(margin=0.1, b=0.3), 1)
    418.7

    References
    ----------
    Derived in docs/mathematics.md.
    """
    _check_numbers(
        "iellip_margin_update_bound",
        margin=(margin, POSITIVE), b=(b, UNIT), prior_variance=(prior_variance, POSITIVE), norm=(norm, POSITIVE),
    )  # fmt: skip
    product, power = 1.0, b
    while power > 1e-17:
        product, power = product * (1 - power), power * b
    return (2 * norm / math.sqrt(prior_variance * product) + norm**2 / product) / margin**2


def kl_divergence(mean: ArrayLike, covariance: ArrayLike, other_mean: ArrayLike, other_covariance: ArrayLike) -> float:
    """KL(N(mu, Sigma) || N(mu', Sigma')) in nats.

        (log det Sigma'/det Sigma + tr(Sigma'^-1 Sigma) + (mu' - mu)' Sigma'^-1 (mu' - mu) - d)/2

    Parameters
    ----------
    mean, other_mean : array of shape (d,)
    covariance, other_covariance : array of shape (d,) or (d, d)
        Variances of a diagonal covariance, or a full one; both of the same kind.

    Returns
    -------
    float
        >= 0, and 0 only for equal Gaussians.

    Raises
    ------
    ValueError
        If shapes do not fit or a covariance is not positive definite.

    Examples
    --------
    >>> kl_divergence([0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0])
    0.5

    References
    ----------
    Crammer, Dredze & Pereira (NIPS 2008), eq. 6.
    """
    mu, sigma, mu2, sigma2 = (np.asarray(a, dtype=np.float64) for a in (mean, covariance, other_mean, other_covariance))
    d = len(mu)
    if mu2.shape != (d,) or sigma.shape != sigma2.shape or sigma.shape not in ((d,), (d, d)):
        raise ValueError(
            f"means must have one shape (d,) and covariances one of (d,), (d, d); got {mu.shape} and {mu2.shape}, "
            f"{sigma.shape} and {sigma2.shape}"
        )
    apart = mu2 - mu
    if sigma.ndim == 1:
        if not (sigma > 0).all() or not (sigma2 > 0).all():
            raise ValueError("variances must be positive")
        ratio = sigma / sigma2
        return float(0.5 * (ratio - 1 - np.log(ratio) + apart**2 / sigma2).sum())
    log_ratio, solved = _log_det(sigma2) - _log_det(sigma), np.linalg.solve(sigma2, np.column_stack([sigma, apart]))
    return float(0.5 * (log_ratio + np.trace(solved[:, :d]) + apart @ solved[:, d] - d))


def _check_numbers(owner: str, **parameters: tuple[float, Range]) -> None:
    """Raise the error of the first parameter that is outside its range."""
    for name, (value, allowed) in parameters.items():
        check_number(owner, name, value, allowed)


def _log_det(sigma: np.ndarray) -> float:
    try:
        return 2.0 * float(np.log(np.diag(np.linalg.cholesky(sigma))).sum())
    except np.linalg.LinAlgError:
        raise ValueError("a covariance must be positive definite") from None
