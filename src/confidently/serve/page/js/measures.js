// How the predictions of a model are measured: those of classes, of sets of them, and of numbers.

import { number, percent } from "./format.js";

const CLASSES = [
  { key: "error", name: "error", title: "Error", unit: "wrong predictions, %", format: percent, axis: (y) => percent(y, y && y < 0.1 ? 1 : 0), top: 0.05 },
  { key: "log_loss", name: "log-loss", title: "Log-loss", unit: "nats per row", format: number, axis: number, top: 0.1 },
];
const SETS = CLASSES.map((one) => (one.key === "error" ? { ...one, unit: "rows with any label wrong, %" } : one));
const NUMBERS = [
  { key: "mae", name: "mean absolute error", title: "Mean absolute error", unit: "unit of the labels", format: number, axis: number, top: 0 },
  { key: "rmse", name: "root mean squared error", title: "Root mean squared error", unit: "unit of the labels", format: number, axis: number, top: 0 },
];

/** Return whether a model predicts numbers, of which rewards are some. */
export const isNumeric = (model) => model.task === "numbers" || decides(model);

/** Return whether a model decides on actions, by the rewards that it predicts. */
export const decides = (model) => model.task === "decisions";

/** Return the measures of a model, the first one the most telling. */
export const measuresOf = (model) => (isNumeric(model) ? NUMBERS : model.multilabel ? SETS : CLASSES);

export const measureOf = (model) => measuresOf(model)[0];

const PROBABILITIES = {
  title: "Reliability", rule: "On the diagonal, stated probabilities are right.", x: "stated probability, %", y: "correct, %", stated: "stated", found: "correct",
};
const INTERVALS = {
  title: "Coverage of intervals", rule: "On the diagonal, intervals contain the number as often as stated.", x: "stated coverage, %", y: "numbers inside, %",
  stated: "stated", found: "inside",
};

/** Return the words of the diagram that shows whether what a model states is true. */
export const reliabilityOf = (model) => (isNumeric(model) ? INTERVALS : PROBABILITIES);

/** Return the columns that a model reads as text. */
export function textsOf(model) {
  return model?.settings.reading?.text ?? (model?.encoder ? ["text"] : []);
}
