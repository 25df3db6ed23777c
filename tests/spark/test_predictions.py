"""What models on Spark predict, and how estimators and models are saved and used in pipelines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import confidently
from confidently.data import DataError
from tests.mixed_table import mixed_table
from tests.spark.data import bytes_of, people

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.evaluation import MulticlassClassificationEvaluator  # noqa: E402
from pyspark.ml.feature import StringIndexer, VectorAssembler  # noqa: E402
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder  # noqa: E402

from confidently import spark as on_spark  # noqa: E402

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # those of Spark


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(people(1500)).repartition(3).persist()


@pytest.mark.parametrize("kind", ["OnlineClassifier", "AutoClassifier"])
def test_classes_are_those_of_the_estimator(frame, kind):
    rows = frame.drop("price")
    model = getattr(on_spark, kind)(rounds=2, setCol="set", coverage=0.8).fit(rows)
    found = model.transform(rows).toPandas()
    table, estimator = rows.toArrow() if hasattr(rows, "toArrow") else rows.toPandas(), model.estimator
    assert found["prediction"].tolist() == estimator.predict(table).tolist()
    assert_allclose(np.stack([p.toArray() for p in found["probability"]]), estimator.predict_proba(table), 1e-12)
    variances = estimator.margin_distribution(table)[1].reshape(1500, -1)
    assert_allclose(np.stack(found["variance"].tolist()), variances, 1e-12)  # batches are other products of matrices
    sets = estimator.predict_set(table, coverage=0.8)
    assert [list(one) for one in found["set"]] == [estimator.classes_[row].tolist() for row in sets]


@pytest.mark.parametrize("kind", ["OnlineRegressor", "AutoRegressor"])
def test_numbers_are_those_of_the_estimator(frame, kind):
    rows = frame.drop("label")
    model = getattr(on_spark, kind)(rounds=2, labelCol="price", intervalCol="interval", probabilityCol="p").fit(rows)
    found = model.transform(rows).toPandas()
    table = rows.toArrow() if hasattr(rows, "toArrow") else rows.toPandas()
    mean, deviation = model.estimator.predict(table, return_std=True)
    assert_allclose(found["prediction"], mean, 1e-12)
    assert_allclose(found["variance"], np.square(deviation), 1e-12)
    limits = model.estimator.predict_interval(table)
    assert_allclose([[one["lower"], one["upper"]] for one in found["interval"]], limits, 1e-12)
    assert "p" not in found


@pytest.mark.parametrize(
    ("kind", "label", "method"),
    [("OnlineClassifier", "label", "predict_proba"), ("AutoClassifier", "label", "predict_proba"),
     ("OnlineRegressor", "price", "predict")],
)  # fmt: skip
def test_columns_of_all_kinds_are_those_of_pandas(spark, kind, label, method):
    """Spark has neither categories, unsigned integers nor zones of single columns, which the pandas frame has."""
    table = mixed_table().drop(columns=["zoned", "price" if label == "label" else "label"])
    nullable = {name: table[name].astype(object).where(table[name].notna(), None) for name in ("maybe", "flag", "gap")}
    there = table.assign(level=table["level"].astype(str), unsigned=table["unsigned"].astype("int64"), **nullable)
    types = {"maybe": "long", "flag": "boolean", "gap": "double"}
    kinds = {"float64": "double", "int64": "long", "bool": "boolean", "datetime64[us]": "timestamp"}
    schema = ", ".join(f"`{name}` {types.get(name) or kinds.get(str(there[name].dtype), 'string')}" for name in there)
    rows = spark.createDataFrame(there, schema)
    model = getattr(on_spark, kind)(rounds=1, labelCol=label).fit(rows.coalesce(1))
    found, estimator = model.transform(rows).toPandas(), model.estimator
    shown = found["probability"].map(lambda p: p.toArray()) if label == "label" else found["prediction"]
    assert_allclose(np.stack(shown.to_list()), getattr(estimator, method)(table.drop(columns=label)), 1e-9)
    assert {"town=rome", "zip=00501", "when.hour", "day.time", "maybe", "flag", "gap"} <= set(estimator.features_.names)


def test_several_labels_per_row(spark):
    data = people(600)[["age", "visits", "city"]]
    data["label"] = [[f"v{v}"] * (v < 4) + ["old"] * bool(a > 0) for v, a in zip(data.visits, data.age, strict=True)]
    rows = spark.createDataFrame(data, "age double, visits long, city string, label array<string>")
    model = on_spark.OnlineClassifier(rounds=2, multilabel=True).fit(rows)
    found = model.transform(rows).toPandas()
    assert set(model.estimator.classes_) == {"old", "v0", "v1", "v2", "v3"}
    expected = model.estimator.predict(data.drop(columns="label"))
    assert [list(one) for one in found["prediction"]] == [
        model.estimator.classes_[row > 0].tolist() for row in expected
    ]
    assert expected.any() and not expected.all()


@pytest.mark.parametrize("params", [{}, {"rule": confidently.CWStdev(eta=0.8), "view": ["standard", "pairs"]}], ids=str)
def test_saved_estimators_and_models_are_the_same(frame, tmp_path, params):
    rows = frame.drop("price")
    estimator = on_spark.OnlineClassifier(rounds=2, class_weight={"yes": 2.0}, predictionCol="found", **params)
    estimator.save(str(tmp_path / "estimator"))
    loaded = on_spark.OnlineClassifier.load(str(tmp_path / "estimator"))
    assert loaded.as_estimator().get_params() == estimator.as_estimator().get_params()
    assert loaded.uid == estimator.uid and loaded.getPredictionCol() == "found"
    model, again = estimator.fit(rows), loaded.fit(rows)
    assert bytes_of(model.estimator.as_model()) == bytes_of(again.estimator.as_model())
    model.save(str(tmp_path / "model"))
    restored = on_spark.OnlineClassifierModel.load(str(tmp_path / "model"))
    assert bytes_of(restored.estimator.as_model()) == bytes_of(model.estimator.as_model())
    assert restored.transform(rows).collect() == model.transform(rows).collect()
    with pytest.raises(Exception, match="already exists"):
        model.save(str(tmp_path / "model"))
    model.write().overwrite().save(str(tmp_path / "model"))


def test_a_model_that_trains_further_predicts_so(frame):
    rows = frame.drop("price")
    model = on_spark.OnlineClassifier(rounds=1).fit(rows)
    before = model.transform(rows).toPandas()["prediction"]
    table = rows.toPandas()
    opposite = np.where(table["label"] == "yes", "no", "yes")
    for _ in range(3):
        model.estimator.partial_fit(table.drop(columns="label"), opposite)
    after = model.transform(rows).toPandas()["prediction"]
    assert after.tolist() == model.estimator.predict(table.drop(columns="label")).tolist() != before.tolist()


def test_a_parameter_that_json_cannot_hold_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="a parameter that is function cannot be saved"):
        on_spark.OnlineClassifier(kernel=lambda x, y: 0.0).save(str(tmp_path / "estimator"))


def test_pipelines_and_vectors(frame, tmp_path):
    """Vectors are lists of numbers; predictions of classes that are numbers are doubles, as evaluators expect."""
    rows = frame.drop("price", "when").fillna({"age": 0.0})
    pipeline = Pipeline(stages=[
        StringIndexer(inputCol="label", outputCol="y", stringOrderType="alphabetAsc"),
        VectorAssembler(inputCols=["age", "visits"], outputCol="features"),
        on_spark.OnlineClassifier(labelCol="y", rounds=2, drop=["label", "age", "visits"]),
    ])  # fmt: skip
    fitted = pipeline.fit(rows)
    estimator = fitted.stages[-1].estimator
    assert {"features.0", "features.1", "city=rome"} <= set(estimator.features_.names)
    found = fitted.transform(rows)
    accuracy = MulticlassClassificationEvaluator(labelCol="y", metricName="accuracy").evaluate(found)
    loss = MulticlassClassificationEvaluator(labelCol="y", metricName="logLoss").evaluate(found)
    table = found.toPandas()
    p = np.array([one.toArray()[int(y)] for one, y in zip(table["probability"], table["y"], strict=True)])
    assert accuracy == np.mean(table["prediction"] == table["y"]) > 0.8
    assert loss == pytest.approx(-np.log(p).mean())
    fitted.save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.transform(rows).collect() == found.collect()


def test_parameters_are_chosen_by_cross_validation(frame):
    rows = frame.select("age", "visits", (frame.label == "yes").cast("int").alias("label"))
    estimator = on_spark.OnlineClassifier(rounds=1)
    grid = ParamGridBuilder().addGrid(estimator.rule, [confidently.PA1(C=1e-9), "arow"]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    chosen = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2).fit(rows)
    assert chosen.avgMetrics[1] > chosen.avgMetrics[0]
    assert chosen.bestModel.estimator.rule == "arow"


def test_columns_that_do_not_fit(spark, frame):
    rows = frame.drop("price")
    model = on_spark.OnlineClassifier(rounds=1).fit(rows)
    with pytest.raises(DataError, match=r"no column 'city' \(did you mean 'City'\?\)"):
        model.transform(rows.withColumnRenamed("city", "City"))
    with pytest.raises(DataError, match="column 'age' of the data frame holds string, and numbers in training"):
        model.transform(rows.withColumn("age", rows.age.cast("string")))
    with pytest.raises(ValueError, match="has a column 'prediction' already"):
        model.transform(model.transform(rows))
    with pytest.raises(TypeError, match="has no parameter 'predictioncol'"):
        model.setParams(predictioncol="p")
    assert model.transform(rows.filter("age > 1000")).count() == 0
    more = rows.drop("label").withColumn("more", rows.visits)
    assert model.transform(more).drop("more").collect() == model.transform(rows.drop("label")).collect()


def test_names_with_dots_and_structs(spark):
    data = people(400)[["age", "visits", "label"]].rename(columns={"visits": "a.b"})
    rows = spark.createDataFrame(data).selectExpr("struct(age, `a.b` as n) as s", "`a.b`", "label")
    model = on_spark.OnlineClassifier(rounds=1).fit(rows)
    assert set(model.estimator.features_.names) == {"s.age", "s.n", "a.b"}
    assert model.transform(rows).count() == 400
