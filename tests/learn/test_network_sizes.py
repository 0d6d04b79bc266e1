"""Parameters and multiply-adds are as many as published."""

import re

import pytest
import torch

from moemcts.errors import UsageError
from moemcts.learn.networks.layers import DenseAttention, count_macs, count_parameters
from moemcts.plugins import plugins

POMMERMAN = (23, 11, 11)
CHESS = (52, 8, 8)
CHESS_ACTIONS = 76 * 64


@pytest.mark.parametrize(
    ("reference", "count"),
    [
        # Counted from the classes of jw3il/PommerLearn.
        ("rise-tiny", 13_662),
        ("rise-tiny?downsampling=false", 43_495),
        ("rise-small", 344_425),
        ("resnet?channels=64&blocks=4&policy_channels=16", 353_545),
    ],
)
def test_small_networks_are_as_large_as_published(reference: str, count: int) -> None:
    assert count_parameters(plugins().network(reference, POMMERMAN, 6)) == count


@pytest.mark.parametrize(
    ("reference", "parameters", "vector", "hidden", "millions", "attending"),
    [
        # Counted from the classes of QueensGambit/CrazyAra; the last column is the width of attention and how
        # often there is one, whose products of queries, keys and values are not among the published multiply-adds.
        ("rise-v3.3?attention=eca_dense", 5_886_933, 512, 256, 263, (0, 0)),
        ("alphazero", 23_386_637, 256, 256, 1491, (0, 0)),
        ("alphavile?size=tiny", 2_766_933, 512, 192, 169, (160, 1)),
        ("alphavile?size=small", 3_696_597, 512, 192, 228, (160, 1)),
        ("alphavile?size=normal", 5_845_141, 512, 224, 363, (160, 2)),
        ("alphavile?size=large", 7_906_325, 512, 224, 494, (160, 2)),
        ("nextvit", 5_794_325, 512, 256, 361, (192, 1)),
    ],
)
def test_large_networks_are_as_large_as_published(
    reference: str, parameters: int, vector: int, hidden: int, millions: int, attending: tuple[int, int]
) -> None:
    options = f"{'&' if '?' in reference else '?'}policy_planes=76&value_head=wdlp"
    network = plugins().network(reference + options, CHESS, CHESS_ACTIONS)
    # The authors' classes keep the two layers of the other value head, which nothing then uses.
    unused = vector * hidden + hidden + hidden + 1
    assert count_parameters(network) + unused == parameters
    width, num_blocks = attending
    assert round((count_macs(network, CHESS) - num_blocks * 2 * 64 * 64 * width) / 1e6) == millions


def test_the_vision_transformer_is_as_large_as_published() -> None:
    network = plugins().network("vit?value_head=wdlp", CHESS, CHESS_ACTIONS)
    assert count_parameters(network) + 256 * 256 + 256 + 256 + 1 == 11_647_749
    assert round(count_macs(network, CHESS) / 1e6) == 21


def test_levit_costs_what_the_paper_says() -> None:
    network = plugins().network("levit?policy_planes=76&value_head=wdlp", CHESS, CHESS_ACTIONS)
    assert count_macs(network, CHESS) == pytest.approx(0.413e9, rel=0.01)  # theirs count norms


def test_the_plain_network_is_the_listing() -> None:
    convolutions = [(18, 32, 3), (32, 64, 3), (64, 128, 3), (128, 128, 3), (128, 256, 5)]
    listing = sum(inputs * outputs * kernel**2 + outputs for inputs, outputs, kernel in convolutions)
    listing += 2 * (64 + 128 + 128 + 256)  # batch norms
    listing += sum(inputs * outputs + outputs for inputs, outputs in [(4096, 4096), (4096, 256), (256, 128)])
    listing += sum(inputs * outputs + outputs for inputs, outputs in [(128, 64), (64, 1)])
    assert count_parameters(plugins().network("cnn", (18, 8, 8), 4096)) == listing


@pytest.mark.parametrize("blocks", [4, 8, 16])
def test_residual_networks_of_the_antichess_thesis_have_256_channels(blocks: int) -> None:
    network = plugins().network(f"resnet-{blocks}", (12, 8, 8), 64)
    block = 2 * (256 * 256 * 9 + 2 * 256)
    assert count_parameters(network.body) == 12 * 256 * 9 + 2 * 256 + blocks * block


def test_four_fifths_of_the_attention_in_the_authors_code_are_dead() -> None:
    network = plugins().network("rise-v3.3?attention=eca_dense&policy_planes=76&value_head=wdlp", CHESS, CHESS_ACTIONS)
    kernels = [module.conv.weight for module in network.modules() if isinstance(module, DenseAttention)]
    dead = sum(kernel.numel() * 4 // 5 for kernel in kernels)
    assert dead == 1_310_720
    assert count_parameters(network) - dead == 4_444_628


def test_multiply_adds_are_counted_by_hand() -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.Flatten(), torch.nn.Linear(75, 4))
    assert count_macs(network.train(), (2, 5, 5)) == 25 * 2 * 3 * 9 + 75 * 4
    assert network.training


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("resnet?channels=0", "expected channels of at least 1, got 0"),
        ("resnet?blocks=-1", "expected blocks of at least 0, got -1"),
        ("resnet?value_hidden=0", "expected value_hidden of at least 1, got 0"),
        ("resnet?policy_planes=-1", "expected policy_planes of at least 1, or 0 for a linear layer, got -1"),
        ("rise?kernels=3,0", "expected kernels of at least 1, got 0"),
        ("rise?kernels=3,4", "expected kernels of odd sizes, got [3, 4]"),
        ("rise-v3.3?path_dropout=1", "expected a path_dropout of at least 0 and below 1, got 1"),
        ("resnet?norm_momentum=2", "expected norm_momentum from 0 to 1, got 2"),
        ("rise?growth=-100", "expected expanded of at least 1, got -44"),
        ("rise-tiny?policy_channels=0", "expected policy_channels of at least 1, got 0"),
        ("densenet?growth=0", "expected growth of at least 1, got 0"),
        ("nextvit?channels=0", "expected channels of at least 1, got 0"),
        ("levit?key_channels=0", "expected key_channels of at least 1, got 0"),
        ("vit?patch=0", "expected patch of at least 1, got 0"),
        ("mlp?width=0", "expected sizes of at least 1, got width=0"),
    ],
)
def test_sizes_that_are_none_are_refused(reference: str, told: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(f'network {reference!r}: {told}')}"):
        plugins().network(reference, CHESS, CHESS_ACTIONS)
