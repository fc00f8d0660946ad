"""Arrows point one way: cli -> server -> intake -> {store, transport, providers} -> json -> core.

A room is core, json, store/<name>, transport/<name>, providers, intake, testkit, server or cli; the
test kit stands beside the server. Public headers belong to core, but for those of another room
(include/waybill/<name>.hpp and include/waybill/<name>/).
"""

import os
import posixpath
import re

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
_LAYERS = {"core": 0, "json": 1, "store": 2, "transport": 2, "providers": 2, "intake": 3,
           "server": 4, "testkit": 4, "cli": 5}
_DRIVERS = re.compile(
    r"^(sqlite3(ext)?\.h|(postgresql/)?libpq[-/].*|pqxx/.*|soci/.*|hiredis/.*|boost/.*|curl/.*"
    r"|amqp.*|rabbitmq-c/.*|nats/.*|librdkafka/.*)$")


def _room_of_source(path):
    """src/store/sqlite/store.cpp -> store/sqlite; None outside the rooms."""
    parts = path.split("/")
    if parts[0] != "src" or len(parts) < 3 or parts[1] not in _LAYERS:
        return None
    if parts[1] in ("store", "transport"):
        return f"{parts[1]}/{parts[2]}" if len(parts) > 3 else parts[1]
    return parts[1]


def _adapters(tree):
    """{"sqlite": "store/sqlite", "testkit": "testkit", ...}: whose headers are not the core's."""
    found = {room: room for room in ("json", "providers", "intake", "testkit") if tree.under(f"src/{room}")}
    for path in tree.under("src/store", "src/transport"):
        parts = path.split("/")
        if len(parts) > 3:
            found[parts[2]] = f"{parts[1]}/{parts[2]}"
    return found


def _room(path, adapters):
    match = re.match(r"include/waybill/([^/.]+)", path)
    if match:
        return adapters.get(match.group(1), "core")
    return _room_of_source(path)


def _target(tree, path, quote, name):
    """The file of ours that an #include means, whether it exists yet or not; else None."""
    beside = posixpath.normpath(posixpath.join(os.path.dirname(path), name))
    candidates = ([beside] if quote == '"' else []) + [f"src/{name}", f"include/{name}", name]
    for candidate in candidates:
        if os.path.isfile(tree.full(candidate)):
            return candidate
    if name.startswith(".."):
        return beside
    first = name.split("/")[0]
    if first in _LAYERS and "/" in name:
        return f"src/{name}"
    if first == "waybill":
        return f"include/{name}"
    return name if first in ("src", "include") else None


def _verdict(here, there):
    if here == there:
        return None
    layer_here, layer_there = _LAYERS[here.split("/")[0]], _LAYERS[there.split("/")[0]]
    if layer_there < layer_here:
        return None
    if layer_there == layer_here:
        return f"{here} includes its sibling {there}; what they share belongs in core"
    return f"{here} includes {there}, against the arrows; turn the dependency round with a seam"


def check(tree):
    adapters = _adapters(tree)
    for path in tree.cpp("src", "include"):
        here = _room(path, adapters)
        if here is None:
            continue
        public = path.startswith("include/")
        for number, line in enumerate(tree.lines(path), 1):
            match = _INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            if (public or here == "core") and _DRIVERS.match(name):
                advice = ("forward-declare its handle" if public else "move the code to an adapter")
                yield path, number, f"{here} includes the driver header {name}; {advice}"
                continue
            target = _target(tree, path, quote, name)
            if target is None:
                continue
            if public and target.startswith("src/"):
                yield (path, number, f"a public header includes the private {target}; "
                       "users do not have it, move what is needed to include/")
                continue
            there = _room(target, adapters)
            verdict = _verdict(here, there) if there else None
            if verdict:
                yield path, number, verdict
