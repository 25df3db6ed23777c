"""Posterior moments along an example to hundreds of digits: the reference of the rules that match moments.

For a Gaussian N(m, v) times any likelihood, the evidence Z(m) gives the posterior's mean m + v (log Z)' and variance
v + v^2 (log Z)''. The derivatives are finite differences, so that nothing here repeats a formula of the rules.
"""

import mpmath as mp


def evidence_gibbs(c, epsilon, v):
    """log Z(m) of the likelihood exp(-2c (epsilon - s)_+)."""

    def log_z(m):
        s = mp.sqrt(v)
        short = mp.exp(2 * c * (c * v - epsilon + m)) * mp.ncdf((epsilon - m - 2 * c * v) / s)
        return mp.log(mp.ncdf((m - epsilon) / s) + short)

    return log_z


def evidence_probit(noise, v):
    """log Z(m) of the likelihood Phi(s/noise)."""
    return lambda m: mp.log(mp.ncdf(m / mp.sqrt(noise**2 + v)))


LOGISTIC_MIXTURE = [(".2522", ".90793"), (".58522", ".57778"), (".16258", ".36403")]  # Monahan & Stefanski 1992, k = 3


def evidence_logistic(m0, v):
    """log Z(m) near m0 of a mixture of probits instead of the logistic function; the tail is the other side's."""
    parts = [(mp.mpf(weight), mp.mpf(slope)) for weight, slope in LOGISTIC_MIXTURE]

    def mixture(m):
        return mp.log(sum(weight * mp.ncdf(slope * m / mp.sqrt(1 + slope**2 * v)) for weight, slope in parts))

    return mixture if m0 >= -v / 2 else lambda m: m + v / 2 + mixture(-m - v)


def differences(log_z, m, v, digits):
    """(log Z)' and -(log Z)'', in units of the standard deviation to twice this many digits after the point."""
    with mp.workdps(4 * digits):
        h = mp.sqrt(v) * mp.mpf(10) ** -digits
        before, here, after = log_z(m - h), log_z(m), log_z(m + h)
        return (after - before) / (2 * h), (2 * here - before - after) / h**2


def exact_step(rule, m, v, **parameters):
    """alpha and zeta of a rule that matches moments, as mpmath numbers; zeta v below 1e-300 is not resolved."""
    m, v = mp.mpf(m), mp.mpf(v)
    exact = {name: mp.mpf(value) for name, value in parameters.items()}
    evidence = {
        "probit": lambda: evidence_probit(exact["noise"], v),
        "gibbs_pa_exact": lambda: evidence_gibbs(v=v, **exact),
        "logistic": lambda: evidence_logistic(m, v),
    }
    log_z = evidence[rule]()
    for digits in (30, 60, 160):  # as many as the smallness of kappa demands
        alpha, kappa = differences(log_z, m, v, digits)
        if kappa * v > mp.mpf(10) ** (20 - 2 * digits):
            break
    with mp.workdps(2 * digits):
        return alpha, kappa / (1 - kappa * v)


def relative_error(value, exact):
    """|value - exact| / |exact|, as a float."""
    with mp.workdps(50):
        return float(abs(mp.mpf(value) - exact) / abs(exact)) if exact else abs(float(value))
