"""Files of the older format, damaged and hostile."""

from __future__ import annotations

import pickle
import random
import struct
from collections.abc import Iterator

from .build import Case, Payload, legacy, name, number, old_storage, tensor, unicode
from .calls import CALLABLES, shown


def older_files(chance: random.Random) -> Iterator[Case]:
    good = tensor(old_storage())
    file = legacy(good)
    for place in sorted({*chance.sample(range(1, len(file)), 25), len(file) - 1, len(file) - 17}):
        yield Case(f"older file truncated at {place}", file[:place])
    for place in chance.sample(range(len(file) - 24), 25):
        flipped = bytearray(file)
        flipped[place] ^= 1 << chance.randrange(8)
        yield Case(f"older file with a bit flipped at {place}", bytes(flipped), harmless=True)
    for module, attribute, argument in CALLABLES[:16]:
        yield Case(
            f"older file calling {module}.{attribute}",
            legacy(name(module, attribute) + unicode(argument) + b"\x85R", pickle.dumps([], 2), b""),
            words=(shown(module, attribute),),
        )
    yield Case("wrong magic number", legacy(good, magic=5), words=("magic number",))
    yield Case("a plain pickle", pickle.dumps({"a": [1, 2, 3]}, 2), words=("magic number",))
    yield Case("a plain hostile pickle", pickle.dumps(Payload(), 2))
    yield Case("a hostile magic number", pickle.dumps(Payload(), 2) + file)
    yield Case("wrong version", legacy(good, version=7), words=("protocol version",))
    yield Case("hostile key list", legacy(good, pickle.dumps([Payload()], 2)))
    yield Case("missing key", legacy(good, pickle.dumps([], 2)))
    yield Case("unknown key", legacy(good, pickle.dumps(["0", "1"], 2)))
    yield Case("key twice", legacy(good, pickle.dumps(["0", "0"], 2)))
    yield Case("keys that are a number", legacy(good, pickle.dumps(5, 2)))
    for stated in (5, -1, 1 << 60, 0):
        yield Case(f"storage that claims {stated} elements", legacy(good, data=struct.pack("<q4f", stated, 1, 2, 3, 4)))
    yield Case(
        "pickle that claims 2**60 elements",
        legacy(tensor(old_storage(numel=number(1 << 60))), data=struct.pack("<q4f", 1 << 60, 1, 2, 3, 4)),
    )
    for offset, count in ((0, 5), (-1, 2), (4, 1), (1 << 60, 1), (0, -1)):
        view = b"(" + unicode("v") + number(offset) + number(count) + b"t"
        yield Case(f"view of {count} from {offset}", legacy(tensor(old_storage(view))))
    tar = bytearray(10240)
    tar[257:262] = b"ustar"
    yield Case("a tar file", bytes(tar), words=("tar format",))
