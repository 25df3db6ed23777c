// How the errors of a model are measured: those of classes, and those of numbers.

import { number, percent } from "./format.js";

const CLASSES = [
  { key: "error", name: "error", title: "Error", unit: "wrong predictions, %", format: percent, axis: (y) => percent(y, y && y < 0.1 ? 1 : 0), top: 0.05 },
  { key: "log_loss", name: "log-loss", title: "Log-loss", unit: "nats per row", format: number, axis: number, top: 0.1 },
];
const NUMBERS = [
  { key: "mae", name: "mean absolute error", title: "Mean absolute error", unit: "unit of the labels", format: number, axis: number, top: 0 },
  { key: "rmse", name: "root mean squared error", title: "Root mean squared error", unit: "unit of the labels", format: number, axis: number, top: 0 },
];

/** Return whether a model predicts numbers. */
export const isNumeric = (model) => model.task === "numbers";

/** Return the measures of a model, the first one the most telling. */
export const measuresOf = (model) => (isNumeric(model) ? NUMBERS : CLASSES);

export const measureOf = (model) => measuresOf(model)[0];
