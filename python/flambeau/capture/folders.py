"""Folders of code that is not the model's, by which frames are told apart."""

from __future__ import annotations

import os

import torch

__all__ = ["CAPTURE", "OWN", "TORCH"]

TORCH = os.path.dirname(torch.__file__) + os.sep
CAPTURE = os.path.dirname(__file__) + os.sep
OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
