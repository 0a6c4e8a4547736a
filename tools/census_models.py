"""The models over which `operator_census.py` counts calls: one an architecture of torchvision, timm and transformers, with
random weights and small configurations.

`all_models()` gives names and functions that make a `Model`: the module, its arguments, others at other sizes, and
which dimensions may vary.
"""

from __future__ import annotations

import dataclasses
import inspect
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import torchvision_cpu  # noqa: E402

torchvision_cpu.imported()

import timm  # noqa: E402
import torchvision  # noqa: E402
import transformers  # noqa: E402
from models import zoo  # noqa: E402


@dataclasses.dataclass
class Model:
    module: torch.nn.Module
    arguments: dict[str, Any]
    others: dict[str, Any] | None  # at other sizes
    shapes: dict[str, Any] | None  # by argument: torch.export's dynamic shapes


AUTO = torch.export.Dim.AUTO


def images(module: torch.nn.Module, size: int, *, frames: int = 0, sides: bool = False, channels: int = 3, name: str | None = None) -> Model:
    """Batches of images, or of clips; the batch is dynamic, on request the sides, too."""
    name = name or next(iter(inspect.signature(module.forward).parameters))
    middle = (frames,) if frames else ()
    other = size + 32 if sides else size
    dims = {0: AUTO, **({2: AUTO, 3: AUTO} if sides else {})}
    return Model(module, {name: torch.randn(2, channels, *middle, size, size)}, {name: torch.randn(3, channels, *middle, other, other)}, {name: dims})


# --- torchvision ---------------------------------------------------------------------

CLASSIFIERS = {
    "alexnet": 64, "convnext_tiny": 64, "densenet121": 64, "efficientnet_b0": 64, "efficientnet_v2_s": 64, "googlenet": 64,
    "inception_v3": 96, "maxvit_t": 224, "mnasnet0_5": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "regnet_x_400mf": 64,
    "regnet_y_400mf": 64, "resnet18": 64, "resnet50": 64, "resnext50_32x4d": 64, "shufflenet_v2_x0_5": 64, "squeezenet1_0": 64,
    "squeezenet1_1": 64, "swin_t": 64, "swin_v2_t": 64, "vgg11_bn": 64, "vit_b_32": 224,
}  # fmt: skip
SEGMENTERS = ("deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large")
CLIPS = {"mc3_18": 32, "r2plus1d_18": 32, "r3d_18": 32, "s3d": 224, "swin3d_t": 64, "mvit_v1_b": 224, "mvit_v2_s": 224}
DETECTORS = ("fasterrcnn_mobilenet_v3_large_320_fpn", "fcos_resnet50_fpn", "keypointrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn",
             "retinanet_resnet50_fpn", "ssd300_vgg16", "ssdlite320_mobilenet_v3_large")  # fmt: skip


def make_torchvision(name: str) -> Model:
    options: dict[str, Any] = {"weights": None}
    if name in SEGMENTERS + DETECTORS:
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options |= {"init_weights": False, "aux_logits": False}
    if name in ("raft_small",):
        pair = lambda n: {"image1": torch.randn(n, 3, 128, 128), "image2": torch.randn(n, 3, 128, 128), "num_flow_updates": 2}
        return Model(torchvision.models.get_model(name, weights=None), pair(2), pair(3), {"image1": {0: AUTO}, "image2": {0: AUTO}, "num_flow_updates": None})
    module = torchvision.models.get_model(name, **options)
    if name in DETECTORS:
        return Model(module, {"images": [torch.rand(3, 96, 128)]}, None, None)
    if name in CLIPS:
        return images(module, CLIPS[name], frames=16 if name != "swin3d_t" else 8)
    return images(module, CLASSIFIERS.get(name, 64), sides=name in SEGMENTERS)


# --- timm ----------------------------------------------------------------------------

SMALL = ("test_", "atto", "femto", "pico", "nano", "xx?s", "tiny", "mini", "micro", "small", "_s$", "_s_", "s0", "b0", "18", "26", "lite", "")
OF_MODULE = {"hrnet": "hrnet_w18_small", "dpn": "dpn48b", "vision_transformer_sam": "samvit_base_patch16_224", "senet": "legacy_seresnet18",
             "vgg": "vgg11", "inception_v4": "inception_v4", "nasnet": "nasnetalarge", "resnest": "resnest14d", "gemma4_vit": None}  # fmt: skip


def smallest(module: str) -> str | None:
    """A small model of a module of timm."""
    if module in OF_MODULE:
        return OF_MODULE[module]
    names = timm.list_models(module=module)
    for pattern in SMALL:
        if found := [name for name in names if re.search(pattern, name)]:
            return min(found, key=len)
    return None


def make_timm(name: str) -> Model:
    torch.manual_seed(0)
    wanted = timm.get_pretrained_cfg(name).input_size if timm.get_pretrained_cfg(name) else (3, 224, 224)
    small = {"img_size": 64} if re.search(r"vit|deit|beit|swin|eva", name) else {}
    for options in ({**small, "depth": 2}, small, {}):
        try:
            module = timm.create_model(name, pretrained=False, **options).eval()
        except Exception:  # not every model takes each option
            continue
        for size in (64, 96, wanted[-1]):
            try:
                with torch.no_grad():
                    module(torch.randn(2, 3, size, size))
                return images(module, size, channels=wanted[0])
            except Exception:  # a size that it does not take
                continue
    raise ValueError(f"{name} takes no size that was tried")


# --- transformers --------------------------------------------------------------------

TEXT = """albert apertus arcee bamba bart bert big_bird bigbird_pegasus biogpt bitnet blenderbot blenderbot-small bloom camembert canine codegen
cohere cohere2 convbert cpmant ctrl data2vec-text dbrx deberta deberta-v2 deepseek_v2 deepseek_v3 diffllama distilbert doge dots1
electra ernie ernie4_5 ernie4_5_moe esm eurobert exaone4 falcon falcon_h1 falcon_mamba flaubert fnet fsmt funnel gemma gemma2 gemma3_text gemma3n_text glm glm4
glm4_moe gpt2 gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gpt_oss gptj granite granitemoe granitemoehybrid helium hunyuan_v1_dense ibert jamba jetmoe layoutlm led lfm2
lilt llama llama4_text longformer longt5 luke m2m_100 mamba mamba2 marian mbart megatron-bert minicpm3 minimax ministral mistral mixtral mobilebert modernbert
mpnet mpt mra mt5 mvp nemotron nllb-moe nomic_bert nystromformer olmo olmo2 olmo3 olmoe openai-gpt opt pegasus pegasus_x persimmon phi phi3 phimoe plbart
prophetnet qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next recurrent_gemma reformer rembert roberta roberta-prelayernorm roc_bert roformer rwkv seed_oss smollm3 splinter squeezebert
stablelm starcoder2 switch_transformers t5 t5gemma umt5 vaultgemma xglm xlm xlm-roberta xlm-roberta-xl xlnet xlstm xmod yoso zamba zamba2""".split()
VISION = """beit bit clip_vision_model conditional_detr convnext convnextv2 cvt dab-detr data2vec-vision deformable_detr deit depth_anything detr dinat dinov2
dinov2_with_registers dinov3_vit dinov3_convnext donut-swin dpt efficientnet focalnet glpn groupvit_vision_model hgnet_v2 hiera ijepa imagegpt levit maskformer-swin
mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2 poolformer pvt pvt_v2 regnet resnet rt_detr rt_detr_resnet sam_vision_model segformer seggpt siglip_vision_model
siglip2_vision_model superpoint swiftformer swin swin2sr swinv2 table-transformer textnet timesformer upernet videomae vit vit_mae vit_msn vitdet vitpose vivit yolos zoedepth""".split()
SOUND = """audio-spectrogram-transformer clap_audio_model data2vec-audio encodec dac hubert mimi moonshine parakeet_encoder sew sew-d speech_to_text speecht5 unispeech
unispeech-sat univnet wav2vec2 wav2vec2-bert wav2vec2-conformer wavlm whisper vits""".split()
BOTH = "clip siglip chinese_clip altclip blip clipseg owlvit vilt flava bridgetower align groupvit git metaclip_2".split()

# What shrinks, by a pattern over an option's whole name. The first that fits is taken.
SMALLER: list[tuple[str, Any]] = [
    (r".*vocab_size|vocab_size_.*", 99),
    (r"(num_)?(key_value|kv)_?heads|num_key_value_heads|num_key_value_groups", 2),
    (r".*(num_.*heads|attention_heads|n_heads?|n_head|mamba_n_heads)", 4),
    (r"num_(local_)?experts|n_routed_experts|moe_num_experts", 4),
    (r"num_experts_per_tok|moe_topk|moe_k|top_k_experts", 2),
    (r"(hidden_size|d_model|n_embd|embedding_size|dim|emb_dim|projection_dim|embed_dim|true_hidden_size|text_embed_dim|decoder_hidden_size|encoder_hidden_size)", 32),
    (r"(head_dim|d_kv|qk_nope_head_dim|v_head_dim|rotary_dim|qk_rope_head_dim|attention_head_size|mamba_headdim|mamba_d_head)", 8),
    (r"(kv_lora_rank|q_lora_rank|qk_head_dim)", 16),
    (r".*(intermediate_size|ffn_dim|d_ff|n_inner|ffn_hidden_size|hidden_dim|mlp_dim|dim_feedforward|ffn_embed_dim)", 64),
    (r"(num_hidden_layers|num_layers|n_layers?|n_layer|encoder_layers|decoder_layers|num_decoder_layers|num_encoder_layers|depth|num_block|num_blocks)", 2),
    (r"(max_position_embeddings|n_positions|n_ctx|max_seq_len|max_source_positions|max_target_positions|max_length|seq_length)", 512),
    (r"image_size|img_size", 64),
    (r"patch_size", 8),
    (r"(pad_token_id|bos_token_id|eos_token_id|decoder_start_token_id|sep_token_id|cls_token_id|mask_token_id|unk_token_id)", 1),
]  # fmt: skip


FEWER = [row for row in SMALLER if re.search("vocab_size|num_layers|max_position_embeddings", row[0])]
"""Where narrower layers do not fit each other: fewer of them."""


def shrink(config: Any, smaller: list[tuple[str, Any]] = SMALLER) -> Any:
    """The configuration with fewer, narrower layers."""
    for name, value in list(vars(config).items()):
        if isinstance(value, transformers.PretrainedConfig):
            shrink(value, smaller)
        if value is None and name in ("head_dim", "num_key_value_heads"):
            value = 1 << 20
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        new = next((new for pattern, new in smaller if re.fullmatch(pattern, name)), None)
        if new is not None and new < value:
            setattr(config, name, new)
    for name in ("layer_types", "mlp_layer_types", "layers_block_type"):
        if isinstance(vars(config).get(name), list):  # one an entry a layer: the kinds that there are
            kinds = list(dict.fromkeys(getattr(config, name)))[:4]
            config.num_hidden_layers = max(len(kinds), 2)
            setattr(config, name, (kinds * 2)[: config.num_hidden_layers])
    config.use_cache = False
    return config


def inner_config(config: Any, name: str) -> Any:
    """What an option is, wherever in a nest of configurations it stands."""
    for holder in (config, getattr(config, "vision_config", None), getattr(config, "text_config", None), getattr(config, "backbone_config", None)):
        if getattr(holder, name, None) is not None:
            return getattr(holder, name)
    return None


def text_arguments(module: Any, batch: int, length: int) -> dict[str, Any]:
    takes = inspect.signature(module.forward).parameters
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length - 2 :] = 0
    words = min(90, inner_config(module.config, "vocab_size") or 90)
    arguments = {"input_ids": torch.randint(2, words, (batch, length))}
    if "attention_mask" in takes:
        arguments["attention_mask"] = mask
    if module.config.is_encoder_decoder and "decoder_input_ids" in takes:
        arguments["decoder_input_ids"] = torch.randint(2, words, (batch, length - 2))
    return arguments


def image_arguments(module: Any, batch: int) -> dict[str, Any]:
    if "spatial_shapes" in inspect.signature(module.forward).parameters:  # images as patches, each image of its own shape
        patches, features = module.config.num_patches, 3 * module.config.patch_size**2
        shapes = torch.tensor([[8, 6], [5, 9], [7, 7]])[:batch]
        mask = (torch.arange(patches) < shapes.prod(1, keepdim=True)).to(torch.int64)
        return {"pixel_values": torch.randn(batch, patches, features), "pixel_attention_mask": mask, "spatial_shapes": shapes}
    size = inner_config(module.config, "image_size") or (256 if hasattr(module.config, "num_queries") else 64)
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    channels = inner_config(module.config, "num_channels") or 3
    frames = inner_config(module.config, "num_frames")
    return {"pixel_values": torch.randn(batch, *([frames] if frames else []), channels, height, width)}


def sound_arguments(module: Any, batch: int, length: int) -> dict[str, Any]:
    name, config = module.main_input_name, module.config
    if name in ("input_values", "input_ids"):
        if name == "input_ids":
            return text_arguments(module, batch, 9)
        if config.model_type in ("encodec", "dac", "mimi"):
            return {name: torch.randn(batch, 1, length)}
        if config.model_type == "audio-spectrogram-transformer":
            return {name: torch.randn(batch, config.max_length, config.num_mel_bins)}
        return {name: torch.randn(batch, length)}
    bins = next(getattr(config, n) for n in ("num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel") if hasattr(config, n))
    if config.model_type == "whisper":
        return {name: torch.randn(batch, bins, 2 * config.max_source_positions), "decoder_input_ids": torch.randint(2, 90, (batch, 5))}
    arguments = {name: torch.randn(batch, length // 50, bins)}
    return arguments | ({"decoder_input_ids": torch.randint(2, 90, (batch, 5))} if config.is_encoder_decoder else {})


def varying(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {k: {d: AUTO for d, (a, b) in enumerate(zip(v.shape, second[k].shape)) if a != b} if isinstance(v, torch.Tensor) else None for k, v in first.items()}


def make_transformers(name: str, kind: str, auto: str = "AutoModel") -> Model:
    failed: Exception | None = None
    for smaller in (SMALLER, FEWER, []):
        try:
            model = small_transformers(name, kind, auto, smaller)
            with torch.no_grad():
                model.module(**model.arguments)
            return model
        except Exception as error:  # sizes that do not fit each other
            failed = error
    raise ValueError(f"{name} does not run: {failed}") from failed


def small_transformers(name: str, kind: str, auto: str, smaller: list[tuple[str, Any]]) -> Model:
    torch.manual_seed(0)
    config = shrink(transformers.AutoConfig.for_model(name), smaller)
    config.architectures = config.architectures or []
    module = getattr(transformers, auto).from_config(config).eval()

    def arguments(batch: int, length: int) -> dict[str, Any]:
        if kind == "text":
            return text_arguments(module, batch, length)
        if kind == "sound":
            return sound_arguments(module, batch, 400 * length)
        return image_arguments(module, batch) | (text_arguments(module, batch, length) if kind == "both" else {})

    first, second = arguments(2, 11), arguments(3, 7 if kind != "sound" else 13)
    return Model(module, first, second, varying(first, second))


# --- all -----------------------------------------------------------------------------


def make_zoo(name: str) -> Model:
    case = zoo.MODELS[name]()
    names = list(inspect.signature(case.module.forward).parameters)

    def named(values: Any) -> dict[str, Any] | None:
        return None if values is None else dict(zip(names, values))

    shapes = torch.utils._pytree.tree_map(lambda value: AUTO if isinstance(value, str) else value, case.dynamic_shapes)
    return Model(case.module, named(case.args), named(case.second), named(shapes))


def all_models() -> Iterator[tuple[str, Callable[[], Model]]]:
    for name in zoo.MODELS:
        yield f"zoo/{name}", lambda name=name: make_zoo(name)
    for name in (*CLASSIFIERS, *SEGMENTERS, *CLIPS, "raft_small", *DETECTORS):
        yield f"torchvision/{name}", lambda name=name: make_torchvision(name)
    for kind, names in {"text": TEXT, "vision": VISION, "sound": SOUND, "both": BOTH}.items():
        for name in names:
            yield f"transformers/{name}", lambda name=name, kind=kind: make_transformers(name, kind)
    for module in timm.list_modules():
        if name := smallest(module):
            yield f"timm/{name}", lambda name=name: make_timm(name)
