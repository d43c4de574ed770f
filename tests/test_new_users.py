"""What stood in the way of new users, each finding with the test that keeps it away.

Numbers are those of the trial of version 0.1.0 by five kinds of user; those without one are its smaller stumbles. A
finding under OPEN has no test yet.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

from altopt import AltOpt
from altopt.datasets import communities

ROOT = Path(__file__).parent.parent
SOURCE, STUMBLES = "tests/fitted/test_source.py", "tests/test_small_stumbles.py"
CUSTOMERS, REASONS = "tests/cli/test_customers.py", "tests/cli/test_reasons.py"
HERE = "tests/test_new_users.py"

FINDINGS = {
    "1: one large column beside counts ruins the fit": (
        "tests/test_degenerate.py",
        "test_one_large_column_does_not_drown_the_others",
    ),
    "2: accuracy far too high where classes are skewed": (HERE, "test_skewed_classes_are_told_honestly"),
    "3: probabilities of skewed classes are not calibrated": (HERE, "test_skewed_classes_are_told_honestly"),
    "4: permuted columns of a table pass": (SOURCE, "test_other_columns_are_refused_by_name"),
    "5: a Series in another order is used by position": (
        SOURCE,
        "test_labels_by_id_in_any_form_and_order_are_the_same",
    ),
    "6: circles and moons": ("tests/test_accuracy_floors.py", "test_accuracy_stays_above_its_floor"),
    "6b: of two updates at once one is lost": (
        "tests/cli/test_update.py",
        "test_updates_at_once_are_all_there",
    ),
    "7: predict and score on the nodes of the fit ignore their edges": (
        SOURCE,
        "test_the_X_of_the_fit_answers_for_its_nodes_with_their_edges",
    ),
    "8: no features": (SOURCE, "test_without_features_the_graph_does_what_identity_features_do"),
    "9: tuning with a graph": ("tests/test_tuning.py", "test_scikit_learns_own_tools_name_these"),
    "10: categories, gaps, dates and text in files": (CUSTOMERS, "test_a_fit_of_mixed_columns"),
    "11: nobody says the expected accuracy": (
        "tests/cli/test_report.py",
        "test_the_page_says_what_was_fitted",
    ),
    "12: updates in a dense graph take long": (
        "tests/fitted/test_push.py",
        "test_a_push_out_of_work_gives_way_to_a_solve",
    ),
    "13: a given label contradicts its probabilities in silence": (
        "tests/fitted/test_by_column.py",
        "test_evidence_against_a_given_label_is_said",
    ),
    "14: class priors, sample weights": (
        "tests/selection/test_draw.py",
        "test_given_weights_multiply_those_of_the_draw",
    ),
    "14: thresholds, expected cost": (
        "tests/fitted/test_decisions.py",
        "test_least_expected_cost_pays_less_than_the_likeliest_class",
    ),
    "15: a torch module as encoder, and storing it": (
        "tests/encoders/torch/test_network.py",
        "test_a_module_of_ones_own_is_fitted_stored_and_loaded",
    ),
    "16: no picture of the graph, no lookup of a node": (
        "tests/cli/explore/test_server.py",
        "test_search_and_neighbourhood",
    ),
    "a pipeline loses the index": (STUMBLES, "test_an_index_lost_in_a_pipeline_is_explained_and_kept"),
    "nodes without a row of features": (CUSTOMERS, "test_nodes_without_a_row_are_taken_and_counted"),
    "only the first bad column is named": (CUSTOMERS, "test_all_problems_of_all_files_are_named_at_once"),
    "Excel": (CUSTOMERS, "test_excel_is_read_where_openpyxl_is_there"),
    "a failed fit leaves an empty folder": (CUSTOMERS, "test_a_fit_that_fails_leaves_no_folder"),
    "update leaves old predictions and report": (
        "tests/cli/test_update.py",
        "test_predictions_and_report_follow_the_model",
    ),
    "empty text becomes a class": (SOURCE, "test_empty_text_is_unknown_with_a_warning_and_never_a_class"),
    "two edges in an array": (
        STUMBLES,
        "test_two_edges_in_an_array_can_be_read_in_two_ways_and_are_asked_for",
    ),
    "explain never names columns": (
        "tests/fitted/test_by_column.py",
        "test_the_telling_column_speaks_loudest",
    ),
    "suspicious_labels lists what nobody doubts": (
        "tests/selection/test_leave_one_out.py",
        "test_flipped_labels_come_first",
    ),
    "suggest --json lacks label and confidence": (REASONS, "test_suggest_says_in_json_what_its_table_has"),
    "fit(data) with train_mask": (SOURCE, "test_a_data_brings_features_labels_by_its_mask_and_edges"),
    "every label given": (SOURCE, "test_where_every_label_is_given_it_says_that_nothing_is_left"),
    "device that is not there": (
        "tests/encoders/torch/test_network.py",
        "test_a_device_that_is_not_there_is_named",
    ),
    "embeddings": (
        "tests/encoders/torch/test_network.py",
        "test_it_is_cross_fitted_and_cloned_as_any_encoder",
    ),
    "lists of methods cannot be read": (
        "lab/tests/experiments/test_methods.py",
        "test_a_method_is_found_in_any_case",
    ),
    "data sets by name": ("tests/datasets/test_datasets.py", "test_every_source_is_expected"),
    "score counts unknown rows as wrong": (SOURCE, "test_score_leaves_unknown_rows_out"),
    "y in -1 and +1": (SOURCE, "test_minus_one_as_a_class_is_explained"),
    "a dense affinity matrix": (STUMBLES, "test_a_dense_affinity_matrix_is_a_graph"),
    "the demo's best by chance": (
        "tests/cli/test_result.py",
        "test_a_lead_within_two_standard_errors_is_none",
    ),
    "fit, predict and report without --json": (REASONS, "test_fit_predict_and_report_print_json"),
    "no logger, silent cross-fitting": (
        "tests/training/test_journal.py",
        "test_the_logger_names_steps_rounds_and_the_result",
    ),
    "two ways to name ends": (STUMBLES, "test_ends_named_as_update_names_them_serve_predict_too"),
    "many updates one by one": (STUMBLES, "test_many_labels_in_one_update_are_the_same_as_one_by_one"),
    "export": ("tests/io/test_graph_files.py", "test_networkx_reads_back_what_was_written"),
    "explanations and results print arrays": (STUMBLES, "test_results_print_in_a_line"),
}

OPEN = [
    "time left of cross-fitting is not estimated, and there is no progress bar in notebooks",
    "AltOpt in a notebook shows its parameters alone, nothing of the fit",
    "no repeats over seeds in one call",
]


@pytest.mark.parametrize("finding", FINDINGS)
def test_a_finding_has_its_test(finding):
    path, name = FINDINGS[finding]
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_all_numbered_findings_are_listed():
    numbers = {finding.partition(":")[0] for finding in FINDINGS if ":" in finding}
    assert {*map(str, range(1, 17)), "6b"} <= numbers


def test_skewed_classes_are_told_honestly():
    """One class in six and weak features: the interval holds the truth, and probabilities add up to the cases."""
    data = communities(700, 6, mean_degree=4, signal=0.2, seed=907)
    truth = (data.y == 0).astype(int)
    y = np.full(len(truth), -1)
    shown = np.random.default_rng(907).choice(len(y), 150, replace=False)
    y[shown] = truth[shown]
    model = AltOpt(random_state=0).fit(data.X, y, graph=data.graph)
    rest = y == -1
    right = np.mean((model.transduction_ == truth)[rest])
    low, high = model.leave_one_out_.interval
    assert low <= right <= high
    assert abs(model.label_distributions_[rest, 1].mean() - truth[rest].mean()) < 0.06
