"""torchvision's detectors: what they do box by box, and a whole one."""

import flambeau
import pytest
import torch
from .checking import compare, convert
from .zoo import torchvision

torchvision()
import torchvision.models.detection as detection  # noqa: E402
from torchvision.models.detection import roi_heads  # noqa: E402
from torchvision.ops import batched_nms, MultiScaleRoIAlign, ps_roi_align, ps_roi_pool, roi_align, roi_pool  # noqa: E402

BOXES = torch.tensor([[3.0, 4, 30, 20], [-5, -6, 8, 9], [40, 30, 90, 80], [10, 10, 10.5, 10.2], [0, 0, 64, 48]])


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def boxes_of(count):
    corner = torch.rand(count, 2) * 100
    scores = torch.randperm(count) / 2048  # no two alike: torchvision leaves open in which order those come
    return torch.cat([corner, corner + torch.rand(count, 2) * 40 + 1], 1), scores, torch.randint(-1, 2, (count,))


def test_boxes_of_classes_are_kept_apart():
    model = Call(lambda boxes, scores, labels: batched_nms(boxes, scores, labels, 0.5))
    program = convert(model, boxes_of(20), (({0: "boxes"},) * 3,))
    # torchvision takes another way from 1001 boxes on.
    compare(program, model, *(boxes_of(count) for count in (20, 1000, 1001, 1, 0)))


class KeptBy(torch.nn.Module):
    def forward(self, boxes, scores, threshold: float):
        return torch.ops.torchvision.nms(boxes, scores, threshold)


def test_nms_by_a_threshold_of_run_time():
    (boxes, scores, _), names = boxes_of(20), ["boxes", "scores", "threshold"]
    program = flambeau.export(torch.jit.script(KeptBy()), (boxes, scores, torch.tensor(0.5)), verbose=False, input_names=names, dynamic_axes={"boxes": [0], "scores": [0]})
    for count, threshold in ((20, 0.5), (20, 0.1), (30, 0.9), (0, 0.5)):
        boxes, scores, _ = boxes_of(count)
        torch.testing.assert_close(program(boxes, scores, torch.tensor(threshold))[0], KeptBy()(boxes, scores, threshold))


def test_masks_are_pasted():
    model = Call(lambda masks, boxes: roi_heads.paste_masks_in_image(masks, boxes, (48, 64)))
    program = convert(model, (torch.rand(5, 1, 28, 28), BOXES), (({0: "boxes"},) * 2,))
    compare(program, model, (torch.rand(5, 1, 28, 28), BOXES), (torch.rand(2, 1, 28, 28), BOXES[1:3]))


def test_keypoints_of_heatmaps():
    model = Call(lambda maps, boxes: roi_heads.heatmaps_to_keypoints(maps, boxes))
    program = convert(model, (torch.randn(5, 3, 14, 14), BOXES), (({0: "boxes"},) * 2,))
    compare(program, model, (torch.randn(5, 3, 14, 14), BOXES), (torch.randn(2, 3, 14, 14), BOXES[1:3]))


class ScaledByNumber(torch.nn.Module):
    def forward(self, x, boxes, factor):
        scale = float(factor)
        return (
            roi_align(x, boxes, (3, 2), scale, 2, True),
            roi_align(x, boxes, (3, 2), scale, 2, False),
            roi_pool(x, boxes, (3, 2), scale),
            ps_roi_align(x, boxes, 2, scale, 2),
            ps_roi_pool(x, boxes, 2, scale),
        )


@pytest.mark.parametrize("opset", [20, 23])
def test_scales_of_run_time(opset):
    """Numbers of a script, which stay open where torch.export asks for constants."""
    x, boxes = torch.rand(1, 12, 24, 32), torch.nn.functional.pad(BOXES, (1, 0))
    model = ScaledByNumber()
    program = flambeau.export(torch.jit.script(model), (x, boxes, torch.tensor(0.5)), opset_version=opset, verbose=False)
    compare(program, model, *((x, boxes, torch.tensor(factor)) for factor in (0.5, 0.3, 1.0)))


class PooledAtLevels(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = MultiScaleRoIAlign(["0", "1"], 3, 2, canonical_scale=32)

    def forward(self, fine, coarse, boxes):
        return self.pool({"0": fine, "1": coarse}, [boxes], [(fine.size(2) * 4, fine.size(3) * 4)])


def test_scales_that_the_first_run_finds():
    """The script keeps them in attributes that are None before it ran."""
    levels = torch.rand(1, 3, 24, 32), torch.rand(1, 3, 12, 16)
    axes = {"fine": {2: "h", 3: "w"}, "coarse": {2: "h2", 3: "w2"}, "boxes": {0: "boxes"}}
    script = torch.jit.script(PooledAtLevels().eval())
    program = flambeau.export(script, (*levels, BOXES), input_names=list(axes), dynamic_axes=axes, verbose=False)
    other = torch.rand(1, 3, 8, 12), torch.rand(1, 3, 4, 6)
    for run in ((*levels, BOXES), (*other, BOXES[:3])):
        compare(program, PooledAtLevels(), run)


class Backbone(torch.nn.Module):
    out_channels = 8

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 8, 8, 8)

    def forward(self, x):
        x = self.layer(x)
        return {"0": x, "1": torch.nn.functional.avg_pool2d(x, 2)}


@pytest.mark.filterwarnings("ignore:the captured program assumes that there is something")
def test_detector():
    torch.manual_seed(0)
    head = roi_heads.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(8 * 49, 16), torch.nn.ReLU())
    head.out_channels = 16
    model = detection.FasterRCNN(
        Backbone(),
        min_size=64,
        max_size=64,
        rpn_anchor_generator=detection.anchor_utils.AnchorGenerator(((16,), (32,)), ((0.5, 1.0),) * 2),
        box_roi_pool=detection.faster_rcnn.MultiScaleRoIAlign(["0", "1"], 7, 2),
        box_head=head,
        box_predictor=detection.faster_rcnn.FastRCNNPredictor(16, 4),
        box_score_thresh=0.0,
    )
    run = ([torch.rand(3, 64, 64)],)
    program = convert(model.eval(), run)
    compare(program, model, run, ([torch.rand(3, 64, 64)],))
