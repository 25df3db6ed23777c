"""Files are read into private memory: a map of a file that another process truncates or changes ends in a crash."""

import re
from pathlib import Path

import safetensors

import confidently

PACKAGE = Path(confidently.__file__).parent


def test_no_file_is_mapped():
    maps = re.compile(r"\bmmap\b|\bmemmap\b|memory_map|safe_open|load_file|mmap_mode")
    found = [path for path in PACKAGE.rglob("*.py") if maps.search(path.read_text(encoding="utf-8"))]
    assert not found


def test_a_model_file_that_changes_while_it_is_read_changes_nothing(ok, data, tmp_path, monkeypatch):
    model = tmp_path / "m.cw"
    ok("train", data, "--rule=arow", "-q", "-o", model)
    expected, content = ok("predict", model, data), model.read_bytes()
    real = safetensors.deserialize

    def changed_before(read):
        model.write_bytes(b"")
        return real(read)

    monkeypatch.setattr(safetensors, "deserialize", changed_before)
    assert ok("predict", model, data) == expected
    assert model.read_bytes() == b""
    model.write_bytes(content)
