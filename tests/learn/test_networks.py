"""Networks have the published sizes and fit any board."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from moemcts.errors import UsageError
from moemcts.learn.networks import catalogue
from moemcts.learn.networks.layers import (
    DenseAttention,
    EfficientAttention,
    StochasticDepth,
    attention_kernel,
    count_parameters,
)
from moemcts.learn.networks.transformer import TransformerBlock
from moemcts.plugins import plugins

POMMERMAN = (23, 11, 11)
NAMES = sorted(plugins().networks)


@pytest.mark.parametrize(
    ("reference", "count"),
    [
        # facts/pommerman.md 3.4, counted from the authors' classes.
        ("rise-tiny", 13_662),
        ("rise-tiny?downsampling=false", 43_495),
        ("rise-small", 344_425),
        ("resnet?channels=64&blocks=4&policy_channels=16", 353_545),
    ],
)
def test_parameters_are_as_many_as_published(reference: str, count: int) -> None:
    assert count_parameters(plugins().network(reference, POMMERMAN, 6)) == count


@pytest.mark.parametrize(
    ("reference", "value_channels", "count"),
    [
        # facts/crazyara.md 4, counted from the authors' classes.
        ("rise-v3.3?attention=eca_dense", 8, 5_886_933),
        ("alphavile?size=tiny", 8, 2_766_933),
        ("alphavile?size=small", 8, 3_696_597),
        ("alphavile?size=normal", 8, 5_845_141),
        ("alphavile?size=large", 8, 7_906_325),
        ("resnet?channels=256&blocks=19&value_channels=4", 4, 23_386_637),
    ],
)
def test_parameters_are_as_many_as_published_but_for_the_extra_heads(
    reference: str, value_channels: int, count: int
) -> None:
    network = plugins().network(f"{reference}&policy_planes=76", (52, 8, 8), 76 * 64)
    win_draw_loss_and_plies = value_channels * 64 * (3 + 1) + (3 + 1)
    assert count_parameters(network) + win_draw_loss_and_plies == count


def test_paths_are_dropped_sample_by_sample_and_only_in_training() -> None:
    path, x = StochasticDepth(0.5), torch.ones(400, 2, 3, 3)
    assert path.eval()(x) is x
    gains = path.train()(x)[:, 0, 0, 0]
    assert set(gains.tolist()) == {0.0, 2.0}
    assert (path(x).flatten(1).std(dim=1) == 0).all()


def test_attention_mixes_all_cells() -> None:
    block = TransformerBlock(96, momentum=0.1).eval()
    planes = torch.randn(1, 96, 5, 5, requires_grad=True)
    block(planes)[0, :, 0, 0].sum().backward()
    assert planes.grad is not None
    assert (planes.grad.abs().sum(dim=1) > 0).all()
    with pytest.raises(ValueError, match="expected channels in multiples of 32 and at least 96, got 64"):
        TransformerBlock(64, momentum=0.1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5, deadline=None)
@given(
    rows=st.integers(3, 19),
    columns=st.integers(3, 19),
    planes=st.integers(1, 9),
    num_actions=st.integers(1, 90),
    num_values=st.integers(1, 4),
    batch=st.integers(1, 3),
)
def test_every_network_fits_every_board(
    name: str, rows: int, columns: int, planes: int, num_actions: int, num_values: int, batch: int
) -> None:
    network = plugins().network(f"{name}?num_values={num_values}", (planes, rows, columns), num_actions).eval()
    with torch.inference_mode():
        logits, value, *_ = network(torch.randn(batch, planes, rows, columns))
    assert logits.shape == (batch, num_actions)
    assert value.shape == ((batch,) if num_values == 1 else (batch, num_values))
    assert value.abs().max() <= 1


def test_policy_planes_are_laid_out_plane_by_plane() -> None:
    network = catalogue.resnet((2, 3, 3), 36, channels=4, blocks=1, policy_planes=4).eval()
    planes = torch.randn(5, 2, 3, 3)
    with torch.inference_mode():
        logits = network(planes).logits
        image = network.policy[:-1](network.body(planes))
    assert (logits.reshape(5, 4, 3, 3) == image).all()


def test_policy_planes_that_do_not_fit_the_actions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected planes of 3 x 3 for 35 actions, got 4"):
        catalogue.rise((2, 3, 3), 35, policy_planes=4)


def test_blocks_grow_and_repeat_their_kernels() -> None:
    network = catalogue.rise((2, 5, 5), 3, channels=8, expanded=16, growth=4, blocks=4, kernels=(3, 5))
    depthwise = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d) and m.groups > 1]
    assert [m.out_channels for m in depthwise] == [16, 20, 24, 28]
    assert [m.kernel_size[0] for m in depthwise] == [3, 5, 3, 5]


def test_attention_stands_before_the_named_blocks() -> None:
    network = catalogue.rise((2, 5, 5), 3, channels=8, attention="eca", attention_blocks=(1, 3))
    assert [block.attention is not None for block in list(network.body)[1:]] == [False, True, False, True]


def test_attention_of_the_authors_code_sees_only_its_middle_taps() -> None:
    attention = DenseAttention(32)
    x = torch.randn(2, 32, 4, 4)
    before = attention(x)
    kernel = attention_kernel(32)
    with torch.no_grad():
        for tap in set(range(kernel)) - {kernel // 2}:
            attention.conv.weight[:, :, tap] = 7.0
    assert (attention(x) == before).all()


def test_efficient_attention_has_one_short_kernel() -> None:
    assert attention_kernel(256) == 5
    assert count_parameters(EfficientAttention(256)) == 5


def test_unknown_options_and_names_are_explained() -> None:
    with pytest.raises(UsageError, match=r"no network named 'reznet'; did you mean 'resnet'\?"):
        plugins().network("reznet", POMMERMAN, 6)
    with pytest.raises(UsageError, match=r"no option of network 'resnet' named 'block'; did you mean 'blocks'\?"):
        plugins().network("resnet?block=3", POMMERMAN, 6)
    with pytest.raises(UsageError, match="expected attention none, se, eca, eca_dense, got 'cbam'"):
        plugins().network("rise?attention=cbam", POMMERMAN, 6)


def test_listing_networks_and_schemes_does_not_import_torch() -> None:
    code = "import sys; from moemcts.plugins import plugins; plugins(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
