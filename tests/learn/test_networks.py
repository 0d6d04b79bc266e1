"""Networks fit any board, and are made as their papers say."""

import functools
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from moemcts.errors import UsageError
from moemcts.learn.networks import catalogue
from moemcts.learn.networks.densenet import DenseLayer
from moemcts.learn.networks.heads import Enlarge
from moemcts.learn.networks.layers import (
    DenseAttention,
    EfficientAttention,
    StochasticDepth,
    attention_kernel,
    count_parameters,
)
from moemcts.learn.networks.levit import LeViTBlock
from moemcts.learn.networks.outputs import value_of
from moemcts.learn.networks.transformer import TransformerBlock
from moemcts.plugins import plugins

POMMERMAN = (23, 11, 11)
# Presets of other networks are left out.
NAMES = sorted(name for name, entry in plugins().networks.items() if not isinstance(entry.make, functools.partial))


def test_paths_are_dropped_sample_by_sample_and_only_in_training() -> None:
    path, x = StochasticDepth(0.5), torch.ones(400, 2, 3, 3)
    assert path.eval()(x) is x
    gains = path.train()(x)[:, 0, 0, 0]
    assert set(gains.tolist()) == {0.0, 2.0}
    assert abs(gains.eq(0).sum().item() - 200) < 60  # 400 draws: six standard deviations
    (path.train()(x.requires_grad_()).sum()).backward()
    assert x.grad is not None
    assert set(x.grad.unique().tolist()) == {0.0, 2.0}
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
    value_head=st.sampled_from(["mse", "wdlp"]),
    batch=st.integers(1, 3),
)
def test_every_network_fits_every_board(
    name: str, rows: int, columns: int, planes: int, num_actions: int, num_values: int, value_head: str, batch: int
) -> None:
    reference = f"{name}?num_values={num_values}&value_head={value_head}"
    network = plugins().network(reference, (planes, rows, columns), num_actions).eval()
    with torch.inference_mode():
        outputs = network(torch.randn(batch, planes, rows, columns))
    assert outputs.logits.shape == (batch, num_actions)
    assert outputs.value.shape == ((batch,) if num_values == 1 else (batch, num_values))
    assert outputs.value.abs().max() <= 1
    if value_head == "mse":
        assert outputs.wdl is outputs.plies is None
    else:
        assert outputs.wdl.shape == (*outputs.value.shape, 3)
        assert (outputs.value == value_of(outputs.wdl)).all()
        assert outputs.plies.shape == (batch,)
        assert ((outputs.plies >= 0) & (outputs.plies <= 1)).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("cnn", "mlp")])
@pytest.mark.parametrize("board", [(3, 3), (8, 8), (11, 11)])
def test_every_network_can_end_in_planes(name: str, board: tuple[int, int]) -> None:
    num_actions = 4 * board[0] * board[1]
    network = plugins().network(f"{name}?policy_planes=4", (2, *board), num_actions).eval()
    with torch.inference_mode():
        assert network(torch.randn(2, 2, *board)).logits.shape == (2, num_actions)


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_of_every_network_is_used(name: str) -> None:
    network = plugins().network(f"{name}?value_head=wdlp", (3, 9, 9), 7).train()
    outputs = network(torch.randn(3, 3, 9, 9))
    sum(output.square().sum() for output in (outputs.logits, outputs.wdl, outputs.plies)).backward()
    assert [name for name, weights in network.named_parameters() if weights.grad is None] == []


def test_planes_on_a_smaller_board_of_features_keep_their_place() -> None:
    enlarge = Enlarge(2, (5, 5))
    coarse = torch.arange(36.0).reshape(1, 4, 3, 3)  # four features for each 2x2 of the board
    fine = enlarge(coarse)
    assert fine.shape == (1, 1, 5, 5)
    assert fine[0, 0, 2, 3] == coarse[0, 1, 1, 1]


def test_one_patch_leaves_nothing_to_attend_to_and_small_ones_do() -> None:
    for patch, tokens in ((8, 2), (4, 5), (1, 65)):
        network = catalogue.vit((3, 8, 8), 10, patch=patch, channels=16, blocks=1, attention_heads=2, hidden=16)
        assert network.body[0](torch.zeros(1, 3, 8, 8)).shape == (1, tokens, 16)


def test_attention_learns_a_number_for_each_distance() -> None:
    block = LeViTBlock(8, (2, 3), 2, 4, 0.1)
    assert block.bias.shape == (2, 6)
    # Cells 0 (0, 0) and 5 (1, 2) are as far apart as 2 (0, 2) and 3 (1, 0).
    assert block.distances[0, 5] == block.distances[2, 3] == block.distances[3, 2] == 1 * 3 + 2
    assert (block.distances.diagonal() == 0).all()


def test_dense_layers_see_all_that_came_before() -> None:
    network = catalogue.densenet((2, 5, 5), 3, growth=4, blocks=2, layers=3, expansion=2)
    inputs = [layer.body[0].num_features for layer in network.body if isinstance(layer, DenseLayer)]
    assert inputs == [4, 8, 12, 4, 8, 12]


def test_policy_planes_are_laid_out_plane_by_plane() -> None:
    network = catalogue.resnet((2, 3, 3), 36, channels=4, blocks=1, policy_planes=4).eval()
    planes = torch.randn(5, 2, 3, 3)
    with torch.inference_mode():
        logits = network(planes).logits
        image = network.policy[:-1](network.body(planes))
    assert (logits.reshape(5, 4, 3, 3) == image).all()


def test_a_seed_draws_body_and_policy_before_the_value() -> None:
    # Trainings that were recorded with a seed keep their first weights.
    states = []
    for value_channels in (1, 3):
        torch.manual_seed(3)
        states.append(catalogue.rise((2, 5, 5), 7, channels=4, expanded=8, value_channels=value_channels).state_dict())
    drawn = [name for name in states[0] if name.split(".")[0] in ("body", "policy")]
    assert all(torch.equal(states[0][name], states[1][name]) for name in drawn)


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


def test_attention_before_blocks_that_are_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected attention_blocks from 0 to 1, got \[7\]"):
        catalogue.rise((2, 5, 5), 3, channels=8, blocks=2, attention="se", attention_blocks=(7,))
    with pytest.raises(ValueError, match=r"expected at least 2 blocks with downsampling, .* got 1"):
        catalogue.rise((2, 5, 5), 3, channels=8, blocks=1, downsampling=True)
    with pytest.raises(ValueError, match="expected attention with attention_blocks, got none"):
        catalogue.rise((2, 5, 5), 3, channels=8, blocks=2, attention_blocks=(1,))


def test_a_batch_of_one_sample_is_learned_from_on_any_board() -> None:
    for side in (3, 4, 5, 6):
        network = catalogue.cnn((2, side, side), 3).train()
        assert all(part.isfinite().all() for part in network(torch.rand(1, 2, side, side)) if part is not None)


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
    with pytest.raises(UsageError, match=r"expected attention as none or se or eca or eca_dense, got 'cbam'$"):
        plugins().network("rise?attention=cbam", POMMERMAN, 6)
    with pytest.raises(UsageError, match=r"expected value_head .*mse.*wdlp.*, got 'wdl'"):
        plugins().network("resnet?value_head=wdl", POMMERMAN, 6)
    with pytest.raises(UsageError, match="no option of network 'vit' named 'value_heads'; did you mean 'value_head'"):
        plugins().network("vit?value_heads=wdlp", POMMERMAN, 6)


def test_listing_networks_and_schemes_does_not_import_torch() -> None:
    code = "import sys; from moemcts.plugins import plugins; plugins(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_transformer_of_one_patch_refuses_what_its_heads_have_not() -> None:
    small = {"channels": 8, "blocks": 1, "attention_heads": 2, "hidden": 8}
    for options in ({"policy_channels": 3}, {"value_channels": 3}, {"pooled": True}, {"norm_momentum": 0.2}):
        with pytest.raises(ValueError, match=f"expected no {next(iter(options))}: with a patch of"):
            catalogue.vit((2, 5, 5), 50, **small, **options)  # type: ignore[arg-type]
        assert catalogue.vit((2, 5, 5), 50, patch=3, **small, **options)  # type: ignore[arg-type]
    assert catalogue.vit((2, 5, 5), 50, policy_planes=2, **small)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected planes of 5 x 5 for 50 actions, got 3"):
        catalogue.vit((2, 5, 5), 50, policy_planes=3, **small)  # type: ignore[arg-type]
