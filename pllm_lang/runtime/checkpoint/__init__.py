"""Checkpoints: folders and files of safetensors, read without executing anything. Needs numpy."""
