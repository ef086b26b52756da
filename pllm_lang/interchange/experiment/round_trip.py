"""`import_experiment`: text made of a document, and the proof that it means the same.

In: a document. Out: `.pllm` text that was parsed, resolved and exported again, with the same configuration digest.
"""

from __future__ import annotations

import os

from pllm_lang.catalog.load import open_project, shipped_library
from pllm_lang.catalog.records import Record
from pllm_lang.interchange.errors import InterchangeError, NotSaid
from pllm_lang.interchange.experiment.as_text import experiment_text
from pllm_lang.interchange.experiment.document import ExperimentDoc, configuration_digest
from pllm_lang.interchange.experiment.record import check_safe_integers, experiment_of_record
from pllm_lang.text.finding import Finding, Severity


def import_experiment(document: ExperimentDoc, config: str = "", folder: str = "") -> str:
    """The text of `document`; `folder` is where it will lie, which `config` is relative to.

    Errors: `NotSaid` where the text would not mean the document, `ExportRefused` for integers beyond 2^53.
    """
    check_safe_integers(document)
    text = experiment_text(shipped_library(), document, config)
    path = os.path.join(os.path.abspath(folder or os.curdir), "imported.pllm")
    opened = open_project([path], os.path.dirname(path), {path: text})
    if found := next((one for one in opened.findings if one.severity is Severity.ERROR), None):
        raise NotSaid(_said(found), "")
    names = [key for key in opened.library.keys("experiment") if shipped_library().get(key) is None]
    record = opened.library.get(names[0])
    assert isinstance(record, Record), names
    try:
        again = experiment_of_record(opened.library, record).document
    except InterchangeError as fault:
        raise NotSaid(fault.message, fault.subject) from None
    if configuration_digest(again) != configuration_digest(document):
        raise NotSaid("the text would be exported as another document", "")
    return text


def _said(finding: Finding) -> str:
    return f"{finding.code}: {finding.message}"
