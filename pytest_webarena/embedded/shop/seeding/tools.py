"""What the builders share: randomness by name, dates set by hand, the schema without migrations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction

from pytest_webarena.embedded.world import CANARY, EPOCH

__all__ = ["building", "create_schema", "days_ago", "finish", "rng"]


def rng(*names: object) -> random.Random:
    """Its own stream of numbers per subject, so that a change here does not shift everything there."""
    return random.Random("store/" + "/".join(str(name) for name in names))


def days_ago(days: float, *, hour: int = 12, minute: int = 0) -> datetime:
    """An instant that many days before the world's start, at that time of day."""
    day = EPOCH - timedelta(days=days)
    return day.replace(hour=hour, minute=minute)


@contextmanager
def building() -> Iterator[None]:
    """One transaction; fields that would stamp themselves with the present keep the dates they are given."""
    stamped = []
    for model in apps.get_models():
        for field in model._meta.local_fields:
            for flag in ("auto_now", "auto_now_add"):
                if getattr(field, flag, False):
                    stamped.append((field, flag))
                    setattr(field, flag, False)
    try:
        with transaction.atomic():
            yield
    finally:
        for field, flag in stamped:
            setattr(field, flag, True)


def create_schema() -> None:
    """All tables straight from the models: ten times faster than replaying the migrations."""
    call_command("migrate", run_syncdb=True, verbosity=0, interactive=False)


def finish() -> None:
    """Leave one compact file, signed with the canary."""
    with connection.cursor() as cursor:
        cursor.execute("create table if not exists store_canary (text text)")
        cursor.execute("insert into store_canary values (%s)", [CANARY])
        cursor.execute("analyze")
        cursor.execute("vacuum")
    connection.close()
