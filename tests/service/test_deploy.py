"""The examples for deployment: what they set is valid, and they start with keys only."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Run
from extras import needs

from evidencerails.config import GuardConfig
from evidencerails.service.server import is_loopback, require_keys


def settings_in(repository: Path) -> dict[str, dict[str, Any]]:
    compose = yaml.safe_load((repository / "deploy" / "compose.yml").read_text(encoding="utf-8"))
    kinds = list(yaml.safe_load_all((repository / "deploy" / "kubernetes.yml").read_text(encoding="utf-8")))
    return {
        "container": yaml.safe_load((repository / "deploy" / "settings.yml").read_text(encoding="utf-8")),
        "compose": yaml.safe_load(compose["configs"]["settings"]["content"]),
        "kubernetes": yaml.safe_load(kinds[0]["data"]["settings.yml"]),
    }


@pytest.mark.parametrize("name", ["container", "compose", "kubernetes"])
def test_settings_load_and_name_a_file_of_keys(repository: Path, name: str) -> None:
    settings = GuardConfig.load(settings_in(repository)[name])
    assert settings.service.keys_file and settings.store is not None


@pytest.mark.parametrize("release", ["1.28", "1.33"])
def test_the_manifests_are_valid_for_kubernetes(repository: Path, release: str) -> None:
    kubernetes_validate = needs("kubernetes_validate")
    kinds = list(yaml.safe_load_all((repository / "deploy" / "kubernetes.yml").read_text(encoding="utf-8")))
    assert {kind["kind"] for kind in kinds} >= {"ConfigMap", "Deployment", "Service"}
    for kind in kinds:
        assert kubernetes_validate.validate(kind, release, strict=True) == release


def test_kubernetes_probes_and_stop_fit_the_service(repository: Path) -> None:
    kinds = list(yaml.safe_load_all((repository / "deploy" / "kubernetes.yml").read_text(encoding="utf-8")))
    pod = next(kind for kind in kinds if kind["kind"] == "Deployment")["spec"]["template"]["spec"]
    container = pod["containers"][0]
    drain_s = GuardConfig.load(settings_in(repository)["kubernetes"]).service.drain_s
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    before_stop_s = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > before_stop_s + drain_s


def test_the_container_listens_for_others_and_so_needs_keys(repository: Path, evidencerails: Run) -> None:
    command = (repository / "Dockerfile").read_text(encoding="utf-8").rpartition("CMD ")[2]
    host = yaml.safe_load(command)[-1]
    assert not is_loopback(host)
    done = evidencerails("serve", "--host", host, "--port", "0")
    assert (done.code, done.out) == (2, "") and "API keys" in done.err


def test_loopback_is_recognised() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "", "127.0.0.1.nip.io")))
    require_keys(GuardConfig().service)
