"""The files of deploy/, as far as they can be tried without containers and without systemd's own process."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import venv
import zipfile
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

import httpx
import pytest

import confidently
from confidently.cli.commands.serve import serve
from confidently.serve import Client
from confidently.serve.http.lines import ROWS_PER_CHUNK
from tests.serve.running import NDJSON, PATIENCE, lines_of, running, wait_until
from tests.serve.test_network import FIRST, row
from tests.serve.test_tokens import bearer, token_file

ROOT = Path(__file__).parents[2]
DEPLOY, PAGE = ROOT / "deploy", Path(confidently.__file__).parent / "serve" / "page"


def program(name):
    """The path of a program; without it the test is skipped."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# --- what starts the server ------------------------------------------------------------------------------------------


def read_dockerfile():
    """The instructions of the file: name and arguments."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def in_context():
    """The files that the ignore file lets into the image's build."""
    kept = [line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"]
    return [ROOT / name for name in kept]


def assert_is_understood(arguments):
    """The command line has a directory and only options of the command."""
    folder = serve.make_context("serve", list(arguments), resilient_parsing=True).params["folder"]
    assert folder
    names = {name for option in serve.params for name in option.opts}
    assert {one.partition("=")[0] for one in arguments if one.startswith("--")} <= names


def test_the_commands_are_those_of_the_server():
    yaml = pytest.importorskip("yaml")
    [(_, command)] = [one for one in read_dockerfile() if one[0] == "CMD"]
    assert_is_understood(json.loads(command)[1:])
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = compose["services"]["confidently"]
    assert service["command"][0] == json.loads(command)[0] == "serve"
    assert_is_understood(service["command"][1:])
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    assert (DEPLOY / compose["services"]["caddy"]["volumes"][0].partition(":")[0]).is_file()
    unit = (DEPLOY / "confidently.service").read_text().replace("\\\n", " ")
    [started] = re.findall(r"^ExecStart=\S+ serve (.*)", unit, flags=re.MULTILINE)
    assert_is_understood(shlex.split(started))


@pytest.mark.long("compiles the package")
@pytest.mark.skipif(sys.platform != "linux", reason="the image is Linux")
def test_the_steps_of_the_dockerfile_make_a_server(tmp_path):
    """Each RUN, COPY, CMD and HEALTHCHECK, with a folder for each stage's root and an environment for its Python."""
    stage, stages, healthy, default = None, {}, "", []
    for name, text in read_dockerfile():
        if name == "FROM":
            stage = tmp_path / f"stage-{len(stages)}"
            venv.create(stage / "python", with_pip=True)
            stages[text.rpartition(" AS ")[2]] = stage
        elif name == "COPY":
            source, target = text.split()[-2:]
            sources = in_context() if source == "." else [stages[text.split()[0].removeprefix("--from=")] / source[1:]]
            for one in sources:
                beside = stage / target[1:] / (one.name if source == "." else "")
                (shutil.copytree if one.is_dir() else copied)(one, beside)
        elif name == "RUN":
            for step in text.split(" && "):
                if step.split()[0] not in ("apt-get", "useradd", "install"):  # of the image's own system
                    run_step(step, stage)
        elif name == "HEALTHCHECK":
            healthy = text
        elif name == "CMD":
            default = json.loads(text)
    path, [token] = token_file(tmp_path, "admin")
    (tmp_path / "run").mkdir()
    command = [str(path if one == "/run/secrets/tokens" else one) for one in default]
    command[1], port = str(stage / "data"), free_port()
    process = subprocess.Popen(
        [stage / "python" / "bin" / "confidently", *command, "--port", str(port), "--json"], stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"]}, text=True,
    )  # fmt: skip
    try:
        assert json.loads(process.stdout.readline())["address"].endswith(f":{port}")
        check = json.loads(re.search(r"CMD (\[.*\])", healthy)[1].replace("8642", str(port)))
        assert subprocess.run([stage / "python" / "bin" / check[0], *check[1:]]).returncode == 0
        with Client(f"http://127.0.0.1:{port}", "m", token=token) as client:
            client.create()
        assert json.loads(process.stdout.readline())["path"] == "/readyz"
        assert json.loads(process.stdout.readline())["token"] == "name-0"
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()
    assert subprocess.run([stage / "python" / "bin" / check[0], *check[1:]], stderr=subprocess.DEVNULL).returncode


def copied(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def run_step(step, stage):
    """Run a command whose absolute paths are below a stage's folder, with its Python first."""
    step = re.sub(r"(?<=[\s\"])/(?=source|wheels|data)", f"{stage}/", step)
    environment = os.environ | {"PATH": f"{stage / 'python' / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-ec", step], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{step}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_systemd_accepts_the_unit(tmp_path):
    analyze = program("systemd-analyze")
    unit = tmp_path / "confidently.service"
    text = (DEPLOY / "confidently.service").read_text()
    unit.write_text(text.replace("/opt/confidently/bin/confidently", sys.executable))
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    command = [analyze, "security", "--offline=true", "--threshold=20", unit]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr


@pytest.mark.long("makes a wheel")
def test_a_wheel_has_the_page(tmp_path):
    """Without its compiled part, which takes minutes and is no matter here."""
    pytest.importorskip("scikit_build_core", reason="needs scikit-build-core")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "-C", "wheel.cmake=false", "-w", str(tmp_path)]
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = {name: archive.read(name) for name in archive.namelist() if "/serve/page/" in name}
    files = [path for path in PAGE.rglob("*") if path.is_file()]
    assert found == {f"confidently/serve/page/{one.relative_to(PAGE).as_posix()}": one.read_bytes() for one in files}
    assert len(found) > 20


# --- proxies ---------------------------------------------------------------------------------------------------------


def seconds_until_first(client, path, **options):
    """How long the first event of a stream that goes on takes to arrive."""
    began = time.monotonic()
    with client.stream("GET", path, **options) as stream:
        assert next(line for line in islice(stream.iter_lines(), 20) if line.startswith("data:"))
        return time.monotonic() - began


def assert_is_served(server, url, token, base):
    """The page, a session, rows, lines while others arrive, events and ids, all through the proxy."""
    with httpx.Client(base_url=url, verify=False, trust_env=False, timeout=PATIENCE) as client:
        wait_until(lambda: answers(client, f"{base}/readyz"))
        assert "<!doctype html>" in client.get(f"{base}/").text
        assert client.get(f"{base}/page/js/app.js").status_code == 200
        if base:
            assert client.get(base).headers["location"].endswith(f"{base}/")
        origin = {"Origin": url}
        answer = client.post(f"{base}/session", json={"token": token}, headers=origin)
        assert answer.status_code == 200, answer.text
        assert "Secure" in answer.headers["set-cookie"] and f"Path={base}/" in answer.headers["set-cookie"]
        csrf = {"X-CSRF-Token": answer.json()["csrf"]}
        assert client.put(f"{base}{FIRST}", json={"view": "none"}, headers=origin | csrf).status_code == 201
        assert client.put(f"{base}{FIRST}", json={"view": "none"}, headers=origin).status_code == 403
        evil = {"Origin": "https://evil.example"}
        assert client.post(f"{base}/session", json={"token": token}, headers=evil).status_code == 403
        assert seconds_until_first(client, f"{base}/v1/events") < PATIENCE / 2
        waiting = lines_that_wait(server, token)
        told = client.post(f"{base}{FIRST}/learn", content=waiting, headers=bearer(token) | NDJSON)
        assert [one["id"] for one in lines_of(told)] == [one["id"] for one in rows_of(server, token)]
        big = b"x" * (2 << 20)
        assert client.post(f"{base}{FIRST}/learn", content=big, headers=bearer(token)).status_code == 400
        id = client.get(f"{base}/v1/models/none", headers=bearer(token)).json()["request"]
        assert re.fullmatch("[0-9a-f-]{32,36}", id), "the proxy's"


def lines_that_wait(server, token):
    """Rows of which the last is only sent when the server has learned the others: the proxy must not collect them."""
    yield "".join(json.dumps(row(f"m-{k}")) + "\n" for k in range(ROWS_PER_CHUNK)).encode()
    wait_until(lambda: len(rows_of(server, token)) == ROWS_PER_CHUNK)
    yield json.dumps(row("last")).encode()


def rows_of(server, token):
    with server.client(headers=bearer(token)) as client:
        return lines_of(client.get(f"{FIRST}/examples"))


def answers(client, path):
    try:
        return client.get(path).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def proxied(tmp_path, url, command, **options):
    """A server behind a proxy that a command runs, and a token of it."""
    path, [token] = token_file(tmp_path, "predict,learn,admin")
    with ExitStack() as stack:
        server = stack.enter_context(running(tmp_path / "served", "--token-file", path, "--public-url", url))
        arguments = command(server.url.removeprefix("http://"))
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        stack.callback(lambda: process.wait(PATIENCE))
        stack.callback(process.terminate)
        yield server, token


def test_nginx_before_a_server_below_a_path(tmp_path):
    nginx, openssl, port = program("nginx"), program("openssl"), free_port()
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([openssl, *made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    main = tmp_path / "main.conf"

    def command(upstream):
        site = (DEPLOY / "nginx.conf").read_text()
        for before, after in [
            ("127.0.0.1:8642", upstream), ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("/etc/ssl/learn.example.org.pem", str(certificate)), ("/etc/ssl/learn.example.org.key", str(key)),
        ]:  # fmt: skip
            assert before in site
            site = site.replace(before, after)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in kinds)
        main.write_text(
            f"daemon off;\npid {tmp_path}/pid;\nerror_log {tmp_path}/errors;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{temporary}{site}}}\n"
        )
        done = subprocess.run([nginx, "-t", "-c", main], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [nginx, "-c", main]

    url = f"https://localhost:{port}"
    with proxied(tmp_path, f"{url}/learn/", command) as (server, token):
        assert_is_served(server, url, token, "/learn")


@pytest.mark.long("a proxy")
def test_caddy_before_a_server(tmp_path):
    caddy, port = program("caddy"), free_port()
    settings = "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n\tlocal_certs\n}\n"
    site = (DEPLOY / "Caddyfile").read_text()
    (tmp_path / "Caddyfile").write_text(settings + site)
    environment = os.environ | {
        "DOMAIN": f"localhost:{port}", "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path),
        "HOME": str(tmp_path),
    }  # fmt: skip

    def command(upstream):
        environment["UPSTREAM"] = upstream
        arguments = [caddy, "validate", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile"]
        done = subprocess.run(arguments, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return [caddy, "run", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile"]

    url = f"https://localhost:{port}"
    with proxied(tmp_path, url, command, env=environment) as (server, token):
        assert_is_served(server, url, token, "")
