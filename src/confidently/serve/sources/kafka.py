"""Rows from Kafka, exactly once: the offset is stored with the rows, not at the broker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ..problems import Problem
from .source import ROWS_PER_REQUEST, Some

SCHEME = "kafka://"
SECONDS = 0.2  # that a request for messages waits
CONNECT_SECONDS = 10.0


class Partition:
    """A partition of a topic, whose messages are rows of JSON.

    Parameters
    ----------
    brokers : str
        Addresses, separated by commas.
    topic : str
    number : int
    """

    def __init__(self, brokers: str, topic: str, number: int) -> None:
        self.brokers, self.topic, self.number = brokers, topic, number
        self.name = f"{SCHEME}{topic}/{number}"

    def rows(self, position: int, stopping: threading.Event) -> Iterator[Some]:
        """Yield messages from an offset on, forever.

        Raises
        ------
        Problem
            If the broker rejects the request, or no longer has the messages from there on.
        """
        reset = {"auto.offset.reset": "error" if position else "earliest"}
        with closing(Consumer(settings(self.brokers) | reset)) as consumer:
            consumer.assign([TopicPartition(self.topic, self.number, position)])
            while not stopping.is_set():
                messages = consumer.consume(ROWS_PER_REQUEST, SECONDS)
                found = [message for message in messages if not self._failed(message.error())]
                if found:
                    position = found[-1].offset() + 1
                    places = [f"offset {message.offset()}" for message in found]
                    yield Some([message.value() or b"" for message in found], position, places)

    def _failed(self, error: KafkaError | None) -> bool:
        """Return whether there is no message; raise a ``Problem`` if there will be none."""
        if error is None:
            return False
        if error.code() == KafkaError._AUTO_OFFSET_RESET or error.fatal():
            raise Problem("invalid-body", f"{error.str()}; messages may be missing")
        return True  # a connection that is tried again


def partitions(url: str) -> list[Partition]:
    """Return the partitions of ``kafka://broker:9092,other:9092/topic``.

    Raises
    ------
    Problem
        If it is not such an address, or there is no such topic.
    """
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if not parts.netloc or not topic or "/" in topic:
        raise Problem("invalid-parameter", f"expected {SCHEME}HOST:PORT/TOPIC, got {url!r}")
    try:
        with closing(Consumer(settings(parts.netloc))) as consumer:
            found = consumer.list_topics(topic, CONNECT_SECONDS).topics[topic]
    except KafkaException as error:
        raise Problem("invalid-parameter", f"{parts.netloc}: {error.args[0].str()}") from None
    if found.error is not None or not found.partitions:
        raise Problem("invalid-parameter", f"{parts.netloc} has no topic {topic!r}")
    return [Partition(parts.netloc, topic, number) for number in sorted(found.partitions)]


def settings(brokers: str) -> dict[str, Any]:
    """Return the settings of a consumer that stores no offsets."""
    return {
        "bootstrap.servers": brokers, "group.id": "confidently", "enable.auto.commit": False,
        "enable.auto.offset.store": False, "log_level": 2,
    }  # fmt: skip
