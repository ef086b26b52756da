"""An experiment as text for people and for the SDK: JSON with two spaces a level, or YAML.

In: the document and a format. Out: text that reads back as the same document.
"""

from __future__ import annotations

import json
from importlib import import_module

from pllm_lang.interchange.errors import DocumentError
from pllm_lang.interchange.experiment.document import ExperimentDoc, experiment_spec
from pllm_lang.text.json_text import plain_json


def written(document: ExperimentDoc, format: str) -> str:
    """The document as `format`, json or yaml. Errors: `DocumentError` where the YAML library is not there."""
    spec = experiment_spec(document)
    if format == "json":
        return plain_json(json.dumps(spec, indent=2, ensure_ascii=False)) + "\n"
    try:
        yaml = import_module("yaml")
    except ModuleNotFoundError:
        why = "YAML needs pyyaml: pip install 'pllm-lang[interchange]', or use JSON"
        raise DocumentError("document.format", why) from None
    # some characters that do not print, such as U+0085, would be read back as white space
    prints = json.dumps(spec, ensure_ascii=False).isprintable()
    return yaml.safe_dump(spec, allow_unicode=prints, sort_keys=False, width=2**20)
