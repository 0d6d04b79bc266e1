"""Networks have the published sizes and fit any board."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from moemcts.errors import UsageError
from moemcts.learn.networks import catalogue
from moemcts.learn.networks.layers import DenseAttention, EfficientAttention, attention_kernel, count_parameters
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


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None)
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
        logits, value = network(torch.randn(batch, planes, rows, columns))
    assert logits.shape == (batch, num_actions)
    assert value.shape == ((batch,) if num_values == 1 else (batch, num_values))
    assert value.abs().max() <= 1


def test_policy_planes_are_laid_out_plane_by_plane() -> None:
    network = catalogue.resnet((2, 3, 3), 36, channels=4, blocks=1, policy_planes=4).eval()
    planes = torch.randn(5, 2, 3, 3)
    with torch.inference_mode():
        logits, _ = network(planes)
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
