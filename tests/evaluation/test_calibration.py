"""Fits on made-up scores whose true probabilities are known, and the command from a run's file to settings."""

import copy
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from commands import Run

from evidencerails import Guard
from evidencerails.config import GuardConfig
from evidencerails.errors import InputError, SettingsError
from evidencerails.evaluation import fitting as c
from evidencerails.evaluation.outcomes import Outcome, RunFile, header_of
from evidencerails.measures.calibrated import calibrated, ensemble_score, log_odds
from evidencerails.settings.scoring import EnsembleCalibration, MethodCalibration

pytestmark = pytest.mark.usefixtures("few_resamples")
CLAIM, SOURCE = "The bridge opened in 1950.", "The bridge opened in 1850."


def overconfident(count: int, seed: int = 0, factor: float = 3.0) -> c.Rows:
    """Scores whose log-odds are `factor` times the true ones, two rows a document."""
    generator = np.random.default_rng(seed)
    true = generator.normal(0, 1.2, count)
    labels = generator.random(count) < 1 / (1 + np.exp(-true))
    return c.Rows(labels, 1 / (1 + np.exp(-factor * true)), np.arange(count, dtype=float) // 2)


def test_the_slope_of_overconfident_scores_is_found() -> None:
    rows = overconfident(4000)
    found = c.fit_platt(rows.labels, rows.scores)
    assert (found.slope, found.intercept) == (pytest.approx(1 / 3, rel=0.12), pytest.approx(0.0, abs=0.1))


def test_calibration_lowers_the_error_and_keeps_the_order() -> None:
    rows = overconfident(1500)
    fitted = c.fit_method("x", rows, c.split(rows, 0.3, seed=1))
    assert fitted.settings is not None
    assert fitted.after["ece"]["value"] < fitted.before["ece"]["value"] * 0.7
    assert fitted.after["log_loss"]["value"] < fitted.before["log_loss"]["value"]
    values = [calibrated(score, fitted.settings) for score in np.linspace(0, 1, 101)]  # type: ignore[arg-type]
    assert values == sorted(values) and values[0] >= 0 and values[-1] <= 1


def test_scores_that_fall_with_hallucinations_are_refused() -> None:
    rows = overconfident(600)
    fitted = c.fit_method("x", rows._replace(scores=1 - rows.scores), c.split(rows, 0.3, seed=1))
    assert fitted.settings is None and "do not mean more hallucinations" in fitted.conclusion


def test_a_calibrator_that_is_worse_on_held_out_documents_is_refused() -> None:
    """Training and held-out documents are of different worlds: what is learnt from the one fails in the other."""
    rows = overconfident(800, factor=1.0)
    outside = c.split(rows, 0.3, seed=0)
    scores = np.where(outside, rows.scores, 1 / (1 + np.exp(-5 * np.log(rows.scores / (1 - rows.scores)))))
    fitted = c.fit_method("x", rows._replace(scores=scores), outside)
    assert fitted.settings is None
    assert fitted.conclusion == "refused: worse than the raw score on held-out documents"


def test_documents_are_never_on_both_sides_and_too_few_rows_say_how_many_there_are() -> None:
    rows = overconfident(400)
    outside = c.split(rows, 0.3, seed=3)
    assert not set(rows.groups[outside]) & set(rows.groups[~outside])
    assert 0.2 < outside.mean() < 0.4
    with pytest.raises(InputError, match="at least 15 of each are needed"):
        c.split(overconfident(20), 0.3, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("is_turned", [False, True])
def test_an_ensemble_is_taken_where_it_helps_on_held_out_documents(is_turned: bool) -> None:
    """Two methods know different things; or the second turns round on new documents."""
    generator = np.random.default_rng(5)
    signal = generator.normal(0, 1, (1500, 2))
    labels = generator.random(1500) < 1 / (1 + np.exp(-1.5 * signal.sum(axis=1)))
    rows = c.Rows(labels, 1 / (1 + np.exp(-1.2 * signal)), np.arange(1500, dtype=float))
    outside = c.split(rows, 0.3, 0)
    if is_turned:
        rows.scores[outside, 1] = 1 - rows.scores[outside, 1]
    fitted = c.fit_ensemble(["a", "b"], rows, outside, seed=0)
    if is_turned:
        assert fitted.settings is None and fitted.conclusion.startswith("refused: log loss +")
    else:
        assert isinstance(fitted.settings, EnsembleCalibration) and fitted.conclusion.startswith("taken: log loss -")
        assert fitted.settings.weights["a"] == pytest.approx(fitted.settings.weights["b"], rel=0.35)


LABELS = np.array([0, 0, 0, 1, 1, 1], dtype=bool)
SCORES = np.array([0.1, 0.2, 0.6, 0.4, 0.7, 0.9])


@pytest.mark.parametrize(
    ("choose", "wanted", "value"),
    [
        # between .2 and .4: one clean flagged (1/3), none leaks; between .6 and .7: none flagged, one leaks (1/3)
        (c.cheapest, (1, 2), 0.3),
        (c.cheapest, (2, 1), 0.65),
        (c.for_recall, (1.0,), 0.3),
        (c.for_recall, (0.6,), 0.65),
        (c.for_precision, (0.75,), 0.3),  # from .3 on: three of four
        (c.for_precision, (1.0,), 0.65),
        (c.for_false_warnings, (0.0,), 0.65),
        (c.for_false_warnings, (0.4,), 0.3),
    ],
)
def test_thresholds_by_hand(choose: Any, wanted: tuple[float, ...], value: float) -> None:
    assert choose(LABELS, SCORES, *wanted).value == pytest.approx(value)


def test_a_threshold_that_cannot_be_is_an_error() -> None:
    with pytest.raises(InputError, match="costs must not be negative, nor both 0"):
        c.cheapest(LABELS, SCORES, 0, 0)
    with pytest.raises(InputError, match="no threshold has a precision"):
        c.for_precision(np.array([True, False]), np.array([0.5, 0.5]), 0.9)


def test_the_ensemble_speaks_only_where_all_parts_have_a_score() -> None:
    how = EnsembleCalibration(weights={"a": 1.0, "b": 0.5}, intercept=-0.1)
    expected = 1 / (1 + np.exp(-(log_odds(0.8) + 0.5 * log_odds(0.3) - 0.1)))
    assert ensemble_score({"a": 0.8, "b": 0.3}, how) == pytest.approx(expected)
    assert ensemble_score({"a": 0.8, "b": None}, how) is None
    assert ensemble_score({"a": 0.8}, None) is None


def test_the_ensemble_is_the_reports_score_measures_included() -> None:
    settings: dict[str, Any] = {"checks": ["grounding"], "scoring": {"measures": ["nli"]}}
    ensemble = EnsembleCalibration(weights={"grounding": 0.7, "nli": 0.4}, intercept=0.2)
    raw = Guard(settings).check_sync(CLAIM, evidence=SOURCE)
    together = Guard({**settings, "calibration": {"ensemble": ensemble.model_dump()}})
    report = together.check_sync(CLAIM, evidence=SOURCE)
    parts = {"grounding": raw.checks["grounding"].score, "nli": raw.metrics["measure_nli"]}
    assert report.hallucination_score == pytest.approx(ensemble_score(parts, ensemble))
    assert report.hallucination_score != pytest.approx(raw.hallucination_score)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": {"groundin": {}}}, "no check or measure 'groundin'; did you mean 'grounding'"),
        ({"methods": {"nli": {"slop": 1.0}}}, "did you mean 'slope'"),
        ({"ensemble": {"weights": {"nli": 1.0}}}, "at least 2 items"),
    ],
)
def test_bad_settings_are_named_at_load(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        GuardConfig.load({"calibration": settings})
    assert message in str(caught.value)


# ---- the command


@pytest.fixture
def calibrate(evidencerails: Run, tmp_path: Path) -> Run:
    """Runs the command; gives what it left, what it wrote as settings, and as JSON."""

    def run(file: Path, *options: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        out, plain = tmp_path / "c.yml", tmp_path / "c.json"
        done = evidencerails("calibrate", "--run", file, "--out", out, "--json", plain, *options)
        if done.code:
            return done, {}, {}
        return done, yaml.safe_load(out.read_text())["evidencerails"], json.loads(plain.read_text())

    return run


def made_up_run(file: Path, rows: int = 400, *, methods: tuple[str, ...] = ("grounding", "consistency")) -> Path:
    """A run's file with overconfident scores."""
    with RunFile(file, header_of("made up", "x", None, 0, GuardConfig())) as into:
        for number, method in enumerate(methods):
            found = overconfident(rows, seed=number)
            labels = overconfident(rows).labels
            for place, (label, score) in enumerate(zip(labels, found.scores, strict=True)):
                value = float(score) if number == 0 else float(0.5 + (score - 0.5) / 4)
                into.add(Outcome(id=str(place), document=f"text-{place // 2}", method=method, hallucinated=bool(label),
                                 status="hallucinated" if value >= 0.5 else "grounded", score=value,
                                 parts=((0, 3, value, value >= 0.5),)))  # fmt: skip
    return file


def test_the_command_writes_settings_that_the_guard_reads(calibrate: Run, tmp_path: Path) -> None:
    run = made_up_run(tmp_path / "r.rows.jsonl", methods=("grounding",))
    done, written, plain = calibrate(run)
    assert done.code == 0, done.err
    how = written["calibration"]["methods"]["grounding"]
    assert "400 rows of made up" in written["calibration"]["fitted_on"]
    assert Guard(tmp_path / "c.yml").config.calibration.methods["grounding"].slope == how["slope"]
    raw = Guard({"checks": ["grounding"]}).check_sync(CLAIM, evidence=SOURCE).checks["grounding"]
    found = Guard({**written, "checks": ["grounding"]}).check_sync(CLAIM, evidence=SOURCE).checks["grounding"]
    assert raw.score is not None
    assert found.score == pytest.approx(calibrated(raw.score, MethodCalibration(**how)))
    assert found.details["raw_score"] == pytest.approx(raw.score)
    assert found.status == raw.status  # a calibration touches no verdict
    (fitted,) = plain["fitted"]
    assert fitted["after"]["log_loss"]["value"] < fitted["before"]["log_loss"]["value"]
    chosen = plain["thresholds"]["grounding, worst claim"]["training"]["value"]
    assert written["grounding"]["max_unsupported_score"] == pytest.approx(chosen, abs=1e-4)


def test_the_threshold_of_the_report_s_score_becomes_the_gate_that_blocks(calibrate: Run, tmp_path: Path) -> None:
    run = made_up_run(tmp_path / "r.rows.jsonl", methods=("grounding",))
    _, written, plain = calibrate(run, "--gate", "--lambda2", "3")
    limit, chosen = written["quality_gate"]["max_hallucination_score"], plain["thresholds"]["report score"]
    assert limit == pytest.approx(chosen["training"]["value"], abs=1e-6)
    assert 0.0 < limit < 1.0 and chosen["held_out"]["leak_rate"] <= 0.5
    policies = [{"when": {"kind": "unsupported_claim"}, "then": "warn"}]
    report = Guard({**written, "checks": ["grounding"], "policies": policies}).check_sync(CLAIM, evidence=SOURCE)
    assert (report.decision, report.decided_by) == ("block", "quality_gate: hallucination_score")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A report as `store export` writes it."""
    from evidencerails.operations.store import queries
    from evidencerails.operations.store.queries import export

    url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'traffic.db'}"
    guard = Guard({"store": {"url": url}, "checks": ["grounding"]})
    guard.check_sync(CLAIM, evidence=SOURCE, prompt="When did it open?")
    guard.store.flush()
    written = io.StringIO()
    export(queries.each(guard.store.engine), written, "jsonl")
    guard.close()
    row: dict[str, Any] = json.loads(written.getvalue())
    return row


def a_day(file: Path, exported: dict[str, Any], wrong: int = 4, changed: dict[str, Any] | None = None) -> Path:
    """100 right answers with scores .00 to .99 and some wrong ones with .90, each to a question of its own."""
    rows = []
    for number, score in enumerate([*(place / 100 for place in range(100)), *[0.9] * wrong]):
        row = copy.deepcopy(exported) | {"id": str(number), "question": f"Question {number}?"}
        row["report"]["claims"][0]["score"] = row["report"]["checks"]["grounding"]["score"] = score
        rows.append(row | ({"hallucinated": True} if number >= 100 else {}) | ((changed or {}) if number == 2 else {}))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_a_budget_of_false_warnings_sets_the_threshold_on_the_apps_own_traffic(
    calibrate: Run, tmp_path: Path, exported: dict[str, Any], share: float
) -> None:
    """Answers that nobody marked count as right, and no wrong one is needed."""
    for wrong in (0, 4):
        day = a_day(tmp_path / "day.jsonl", exported, wrong)
        done, written, plain = calibrate(day, "--max-false-warnings", share)
        assert f"{100 + wrong} answers, {wrong} of them marked hallucinated; the others count as right" in done.err
        ((name, threshold),) = plain["thresholds"].items()
        assert name == "grounding, worst claim" and "calibration" not in written
        assert written["grounding"]["max_unsupported_score"] == pytest.approx(1 - share, abs=0.06)
        assert threshold["training"]["false_abstention_rate"] <= share
        assert (threshold["held_out"]["leak_rate"] is None) == (wrong == 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hallucinated": "yes"}, "hallucinated: 'yes'"),
        ({"report": {"checks": {}}}, "day.jsonl:3: not an exported report (KeyError('claims'))"),
        ({"report": None}, "not an exported report"),
    ],
)
def test_a_bad_line_of_traffic_is_named(
    calibrate: Run, tmp_path: Path, exported: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    day = a_day(tmp_path / "day.jsonl", exported, changed=change)
    done, *_ = calibrate(day, "--max-false-warnings", 0.1)
    assert done.code == 2 and message in done.err and "store export" in done.err


@pytest.mark.parametrize(
    ("methods", "options", "message"),
    [
        ((), ("--target-precision", "0.9", "--target-recall", "0.9"), "exclude each other"),
        ((), ("--target-recall", "0.9", "--max-false-warnings", "0.1"), "exclude each other"),
        ((), ("--method", "consistency", "--max-false-warnings", "0.1"), "of claims; consistency has none"),
        ((), ("--method", "judge"), "has no outcome of judge; it has grounding, consistency"),
        (("nli",), ("--gate",), "only measures"),
    ],
)
def test_wrong_usage_exits_2(calibrate: Run, tmp_path: Path, methods: Any, options: Any, message: str) -> None:
    run = made_up_run(tmp_path / "r.rows.jsonl", rows=400, methods=methods or ("grounding", "consistency"))
    done, *_ = calibrate(run, *options)
    assert done.code == 2 and message in done.err


def test_scores_that_are_calibrated_already_are_refused(
    calibrate: Run, tmp_path: Path, exported: dict[str, Any]
) -> None:
    config = GuardConfig.load({"calibration": {"methods": {"grounding": {"slope": 0.5}}}})
    with RunFile(tmp_path / "r.jsonl", header_of("d", "x", None, 0, config)):
        pass
    calibrated_report = copy.deepcopy(exported)
    calibrated_report["report"]["checks"]["grounding"]["details"]["raw_score"] = 0.5
    day = a_day(tmp_path / "day.jsonl", calibrated_report)
    for file, options in ((tmp_path / "r.jsonl", ()), (day, ("--max-false-warnings", 0.1))):
        done, *_ = calibrate(file, *options)
        assert done.code == 2 and "calibrated already" in done.err
