"""What clients without a token can take of the server's memory."""

import sys

import pytest

from tests.serve.hostile import WAYS, attack
from tests.serve.running import running
from tests.serve.test_connections import most_memory
from tests.serve.test_network import FIRST, row
from tests.serve.test_tokens import bearer, token_file

MOST = 50  # MB, by which sixty clients may make the server grow


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("way", ["logins before others", *(
    pytest.param(way, marks=pytest.mark.long("sixty clients that send much")) for way in WAYS
)])  # fmt: skip
def test_sixty_clients_without_a_token_take_little_memory(tmp_path, way):
    path, [token] = token_file(tmp_path, "admin,learn")
    with running(tmp_path / "served", "--token-file", path) as server:
        with server.client(headers=bearer(token)) as client:
            assert client.put(FIRST, json={}).status_code == 201
            before = most_memory(server)
            attack(server.url, *WAYS[way])
            assert most_memory(server) < before + MOST
            assert client.post(f"{FIRST}/learn", json=row("m")).status_code == 200
        assert server.stop() == 0
