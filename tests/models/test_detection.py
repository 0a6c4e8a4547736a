"""torchvision's detectors: what they do box by box, and a whole one."""

import pytest
import torch
from .checking import compare, convert
from .zoo import torchvision

torchvision()
import torchvision.models.detection as detection  # noqa: E402
from torchvision.models.detection import roi_heads  # noqa: E402
from torchvision.ops import batched_nms  # noqa: E402

BOXES = torch.tensor([[3.0, 4, 30, 20], [-5, -6, 8, 9], [40, 30, 90, 80], [10, 10, 10.5, 10.2], [0, 0, 64, 48]])


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def boxes_of(count):
    corner = torch.rand(count, 2) * 100
    return torch.cat([corner, corner + torch.rand(count, 2) * 40 + 1], 1), torch.rand(count), torch.randint(-1, 2, (count,))


def test_boxes_of_classes_are_kept_apart():
    model = Call(lambda boxes, scores, labels: batched_nms(boxes, scores, labels, 0.5))
    program = convert(model, boxes_of(20), (({0: "boxes"},) * 3,))
    # torchvision takes another way from 1001 boxes on.
    compare(program, model, *(boxes_of(count) for count in (20, 1000, 1001, 1, 0)))


def test_masks_are_pasted():
    model = Call(lambda masks, boxes: roi_heads.paste_masks_in_image(masks, boxes, (48, 64)))
    program = convert(model, (torch.rand(5, 1, 28, 28), BOXES), (({0: "boxes"},) * 2,))
    compare(program, model, (torch.rand(5, 1, 28, 28), BOXES), (torch.rand(2, 1, 28, 28), BOXES[1:3]))


def test_keypoints_of_heatmaps():
    model = Call(lambda maps, boxes: roi_heads.heatmaps_to_keypoints(maps, boxes))
    program = convert(model, (torch.randn(5, 3, 14, 14), BOXES), (({0: "boxes"},) * 2,))
    compare(program, model, (torch.randn(5, 3, 14, 14), BOXES), (torch.randn(2, 3, 14, 14), BOXES[1:3]))


class Backbone(torch.nn.Module):
    out_channels = 8

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 8, 8, 8)

    def forward(self, x):
        x = self.layer(x)
        return {"0": x, "1": torch.nn.functional.avg_pool2d(x, 2)}


@pytest.mark.filterwarnings("ignore:the captured program takes it that there is something")
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
