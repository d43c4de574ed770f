"""Settings of encoders are checked where they are made."""

import pytest

from altopt import AltOpt, InputError
from altopt.encoders import (
    AttentionEncoder,
    EnsembleEncoder,
    KernelEncoder,
    LinearEncoder,
    MLPEncoder,
    TabularEncoder,
    as_encoder,
)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (LinearEncoder, {"C": 0}, "C must be a number above 0 or None, but is 0"),
        (LinearEncoder, {"C": float("nan")}, "C must be a number above 0 or None, but is nan"),
        (
            LinearEncoder,
            {"sharpness": -1.0},
            r"sharpness must be a number above 0 and below 1e\+09, but is -1.0",
        ),
        (LinearEncoder, {"tolerance": "small"}, "tolerance must be a number at least 0, but is 'small'"),
        (LinearEncoder, {"C_scale": True}, "C_scale must be a number above 0, but is True"),
        (MLPEncoder, {"hidden": -1}, "hidden must be a tuple of whole numbers, but is -1"),
        (MLPEncoder, {"hidden": (16, 0)}, "each of hidden must be a whole number from 1 on, but is 0"),
        (MLPEncoder, {"dropout": 1.0}, "dropout must be a number at least 0 and below 1, but is 1.0"),
        (MLPEncoder, {"batch_size": 0}, "batch_size must be a whole number from 1 on or None, but is 0"),
        (MLPEncoder, {"loss": "hinge"}, "loss must be 'mse' or 'ce', but is 'hinge'"),
        (AttentionEncoder, {"n_hops": 0}, "n_hops must be a whole number from 1 on, but is 0"),
        (AttentionEncoder, {"width": 9}, "width must be a multiple of heads, but is 9 for 2 heads"),
        (
            KernelEncoder,
            {"gamma": -1.0},
            "gamma must be a number above 0 and below 1e\\+06 or None, but is -1.0",
        ),
        (KernelEncoder, {"n_landmarks": 2.5}, "n_landmarks must be a whole number from 1 on, but is 2.5"),
        (EnsembleEncoder, {"encoder": "mlp"}, "encoder must be an Encoder, but is 'mlp'"),
        (TabularEncoder, {"classifier": None, "min_share": -0.1}, "min_share must be a number at least 0"),
    ],
)
def test_a_setting_out_of_range_is_refused(kind, settings, message):
    with pytest.raises(InputError, match=f"^({kind.__name__}: )?{message}"):
        kind(**settings)


@pytest.mark.parametrize("value", ["mlp", LinearEncoder, 3])
def test_what_is_no_encoder_is_refused(value):
    with pytest.raises(
        InputError, match="encoder must be an instance of a subclass of altopt.encoders.Encoder"
    ):
        as_encoder(value)
    with pytest.raises(InputError, match="encoder must be an instance"):
        AltOpt(encoder=value).fit([[0.0], [1.0]], [0, 1], graph=[(0, 1)])
