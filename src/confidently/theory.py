"""Confidence loss, mistake bounds and divergences of the papers, from ``confidently.rules.theory``."""

from .rules.theory import (
    cellip_mistake_bound,
    confidence_loss,
    confidence_loss_derivative,
    cw_mistake_bound,
    iellip_margin_update_bound,
    iellip_mistake_bound,
    kl_divergence,
    least_multiple,
)

__all__ = [
    "cellip_mistake_bound",
    "confidence_loss",
    "confidence_loss_derivative",
    "cw_mistake_bound",
    "iellip_margin_update_bound",
    "iellip_mistake_bound",
    "kl_divergence",
    "least_multiple",
]
