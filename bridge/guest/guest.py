"""
The Python guest: it runs one program inside the sandbox. A sandbox runs this file unchanged as a script, with Python
3.11 or newer and only the standard library:

    PYTHONHASHSEED=0 python3 -s -P -B guest.py [--in 0] [--out 1]

It reads frames from one descriptor and writes them to the other, each after its length in four bytes. Before the
program runs, it moves both to private descriptors: no child inherits them, and what is written to descriptors 1 and 2
is never read as a frame.

Its checks are for honest programs only. The host repeats each of them. README.md beside this file describes what
programs see of the guest.
"""

import os
import sys


def start_again_without_random_hashes():
    """The order of a set depends on the hash seed, which can only be set when the interpreter starts."""
    if sys.flags.hash_randomization == 0:
        return
    if os.environ.get("PYTHONHASHSEED") == "0" and not sys.flags.ignore_environment:
        raise SystemExit("The Python guest needs an interpreter that obeys PYTHONHASHSEED.")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-s", "-P", "-B", os.path.abspath(__file__), *sys.argv[1:]]
    os.execve(sys.executable, command, {**kept, "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"})


if __name__ == "__main__":
    start_again_without_random_hashes()

import __future__
import _thread
import ast
import asyncio
import builtins
import collections
import copy
import dataclasses
import datetime
import enum
import fcntl
import functools
import gc
import inspect
import io
import itertools
import json
import linecache
import logging
import math
import queue
import random
import re
import signal
import threading
import time
import types
import uuid
import warnings
import weakref

# Modules that keep a reference to the clock are loaded before `set_clock` replaces it: `queue` here, the others by asyncio.
assert queue

PROTOCOL_VERSION = 1
DEPTH = 100
LINE_LENGTH = 16_384
# Characters of printed text in one frame: it fits into the smallest frame, however many of them are escaped.
PIECE_LENGTH = 4_096
# Bytes that a line counts besides its own if it needs a frame, because its stream is not the last one's.
FRAME_BYTES = 64
TIMERS_AT_ONCE = 10_000
LONGEST_TIMER_MS = 2**31 - 1
# Bytes of a frame that are reserved for its header: more than the host accepts.
HEADER_BYTES = 16_384
TOO_LARGE = "value_too_large"
BUILD_DICT = "build a dict of what is needed from it."
STREAM_MISUSED = "stream_misused"
LARGEST_INTEGER = 2**53 - 1
WALK_DEPTH = 10_000
PROGRAM_FILE = "program.py"
# Name of the search among tools in frames. It is no tool's: programs have it as the function `searchTools`.
SEARCH_TOOLS = "search_tools"
# Names of the calls that keep a value and read it again: the functions `save` and `load`.
SAVE_ARTIFACT = "save_artifact"
LOAD_ARTIFACT = "load_artifact"
FUNCTIONS = {SEARCH_TOOLS: "searchTools", SAVE_ARTIFACT: "save", LOAD_ARTIFACT: "load"}
# Maximum length of the name of a kept value. The host checks the rest of it.
NAME_LENGTH = 100
# Most notes on a value.
NOTES = 8
# Most tasks and calls that are kept because they failed.
FAILED_KEPT = 1_000
PROGRAM_FUNCTION = "__program__"
# An object's address in its default text. It differs in each run of a program.
ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}(?=[>\s,])")


def leave():
    """Ends the process because the host has closed the connection."""
    os._exit(0)


# ---- text and JSON ---------------------------------------------------------------------------------------------------

json_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
parse_json = json.loads


def integer_of(digits):
    """A whole number as the host gives it in results: the text of its digits, if no double holds it."""
    number = int(digits)
    if abs(number) < 2**53:
        return number
    if abs(number) >= 10**21:
        return digits
    mantissa, _, exponent = repr(float(number)).partition("e")
    width = int(exponent or 0) + 1 + (number < 0)
    shortest = mantissa.replace(".", "").ljust(width, "0") if exponent else mantissa.removesuffix(".0")
    return number if number == float(number) and shortest == digits else digits


@functools.wraps(parse_json)
def exact_json(text, **options):
    return parse_json(text, **{"parse_int": integer_of, **options})


json.loads = exact_json


def json_bytes(value):
    # Lone surrogates have no UTF-8 and are written as JSON escapes.
    return json_text(value).encode("utf-8", "backslashreplace")


def units(text):
    """Length of a text in UTF-16 code units, as the host counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_size(text):
    """Bytes of a text in UTF-8. A lone surrogate counts three, as on the host."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def utf8_start(text, size):
    """The longest start of a text that has at most `size` bytes of UTF-8."""
    encoded = text.encode("utf-8", "surrogatepass")
    while size > 0 and encoded[size] & 0xC0 == 0x80:
        size -= 1
    return encoded[:size].decode("utf-8", "surrogatepass")


def ends_of(text, length):
    """The ends of a message: the last words of a long one often say what is wrong."""
    if units(text) <= length:
        return text
    encoded = text.encode("utf-16-le", "surrogatepass")
    half = length - 64
    left_out = (len(encoded) - 2 * half) // 2
    return f"{encoded[:half].decode('utf-16-le', 'ignore')}… {left_out} characters left out …{encoded[-half:].decode('utf-16-le', 'ignore')}"


def shorten(text, length):
    if units(text) <= length:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: 2 * (length - 1)].decode("utf-16-le", "ignore") + "…"


class ValueRefused(TypeError):
    """A value that cannot be written as JSON, or whose JSON is too long."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


# Parts of a fast encoder's output that need a check: integers that other languages cannot hold, and a reserved name.
SUSPECT = re.compile(rb'\d{16}|"__proto__"')


def encode(value, what, frame_bytes, notes=None):
    """
    JSON of a value. A value without a form in JSON is converted (sets, dates, dataclasses) or refused with a sentence that
    begins with `what`. `notes` receives a sentence for each conversion that loses information.
    """
    try:
        body = json_bytes(value)
    except Exception:
        body = None
    if body is None or not is_plain(value) or SUSPECT.search(body):
        body = json_bytes(PlainCopy(what, frame_bytes, notes).of(value))
    advice = "Pass on only what is needed: select, aggregate or count first."
    if len(body) > frame_bytes:
        raise ValueRefused(TOO_LARGE, f"{what} more than {frame_bytes} characters of JSON. {advice}")
    allowed = frame_bytes - HEADER_BYTES
    if len(body) > allowed:
        raise ValueRefused(
            TOO_LARGE, f"{what} {len(body)} bytes of JSON, at most {allowed} can be passed on. Select, aggregate or count first."
        )
    return body


def is_plain(value):
    """Whether a value is nested no deeper than allowed and all keys are of type str, so that no two become equal in JSON."""
    level = [value] if isinstance(value, (dict, list, tuple)) else []
    for _ in range(DEPTH):
        if any(set(map(type, parent)) - {str} for parent in level if isinstance(parent, dict)):
            return False
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list, tuple))
        ]
        if not level:
            return True
    return False


class Record(dict):
    """
    An object in a tool's result: a dict whose fields are attributes too. A field that has the name of a method of `dict`
    is reached by its key only. Names like `__len__` are never fields: Python and its libraries ask for them.
    """

    __slots__ = ()

    def __getattr__(self, name):
        if name in self and not name.startswith("__"):
            return self[name]
        known = shorten(", ".join(map(str, itertools.islice(self, 20))), 200)
        raise AttributeError(f"the result has no field '{shorten(name, 100)}' here; it has: {known}" if known else "the result is empty here")

    def __setattr__(self, name, value):
        if hasattr(dict, name):
            raise AttributeError(f'"{name}" is a method of dict: set the field with ["{name}"]')
        self[name] = value

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = Record()
        copied.update((key, copy.deepcopy(value, memo)) for key, value in self.items())
        return copied

    def __reduce__(self):
        return dict, (dict(self),)


parse_result = functools.partial(json.loads, object_hook=Record)


class PlainCopy:
    """Copies a value into dicts, lists and plain values. A refusal names the path of the value."""

    def __init__(self, what, frame_bytes, notes):
        self.what = what
        self.frame_bytes = frame_bytes
        self.notes = notes
        self.size = 0
        self.path = []
        self.parents = []

    def of(self, value):
        self.count(4)
        if value is None or value is True or value is False:
            return value
        if is_disguised(value):
            self.refuse(f"an object of the class {type(value).__name__} that passes for another", BUILD_DICT)
        if isinstance(value, enum.Enum):
            return self.of(value.value)
        if isinstance(value, str):
            self.count(len(value))
            return value
        if isinstance(value, int):
            if abs(value) > LARGEST_INTEGER:
                self.refuse("an integer beyond 2**53", "turn it into a float or a string first.")
            return value
        if isinstance(value, float):
            if math.isfinite(value):
                return value
            return self.of_no_number(float(value))
        kind = (type(value).__module__, type(value).__name__)
        if kind == ("decimal", "Decimal"):
            return self.of_decimal(value)
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        if kind == ("uuid", "UUID"):
            return str(value)
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        return self.of_container(value)

    def of_decimal(self, value):
        if not value.is_finite():
            return self.of_no_number(value)
        if value == value.to_integral_value() and abs(value) <= LARGEST_INTEGER:
            return int(value)
        number = float(value)
        if type(value)(repr(number)) != value:
            if self.notes is None:
                self.refuse(f"Decimal {shorten(str(value), 64)}", "turn it into a float or a string first.")
            self.note(f"Decimal {value}{self.place()} became {number!r}: JSON numbers have fewer digits.")
        return number

    def of_no_number(self, value):
        # To a tool, null may stand for an absent field.
        if self.notes is None:
            self.refuse(str(value), "JSON has no such number.")
        self.note(f"{value}{self.place()} became null, because JSON has no such number.")

    def of_container(self, value):
        if any(parent is value for parent in self.parents):
            self.refuse("a value that contains itself", "build a copy without the cycle.")
        if len(self.parents) >= DEPTH:
            self.refuse(f"a value nested more than {DEPTH} levels deep", "flatten it.")
        self.parents.append(value)
        plain = self.inside(value)
        self.parents.pop()
        return plain

    def inside(self, value):
        if isinstance(value, (dict, collections.abc.Mapping)):
            return self.of_mapping(value)
        if isinstance(value, (list, tuple, collections.deque, range, collections.abc.MappingView)):
            return self.of_items(value)
        if isinstance(value, (set, frozenset, collections.abc.Set)):
            return self.of_items(in_order(value))
        if isinstance(value, BaseException):
            return {"name": type(value).__name__, "message": str(value)}
        if hasattr(type(value), "__dataclass_fields__") and not isinstance(value, type):
            return self.of_mapping({name: getattr(value, name) for name in type(value).__dataclass_fields__})
        if isinstance(value, types.SimpleNamespace):
            return self.of_mapping(vars(value))
        return self.refuse_object(value)

    def of_items(self, items):
        plain = []
        for index, item in enumerate(items):
            self.path.append(index)
            plain.append(self.of(item))
            self.path.pop()
        return plain

    def of_mapping(self, mapping):
        plain = {}
        for key, item in mapping.items():
            name = name_of(key)
            if name is None:  # Such a key cannot be a field's name, so the mapping becomes a list of pairs.
                return self.of_items([list(pair) for pair in mapping.items()])
            self.path.append(name)
            self.count(len(name))
            if name == "__proto__":
                self.refuse("a field called __proto__", "give it another name.")
            if name in plain:
                self.refuse(f"two keys that are both {json_text(name)} in JSON", "make them different.")
            plain[name] = self.of(item)
            self.path.pop()
        return plain

    def refuse_object(self, value):
        kind = type(value).__name__
        if isinstance(value, ToolCall):
            self.refuse("a call without its result", "await it first.")
        if isinstance(value, (ToolStream, StreamReader)):
            self.refuse(f"the stream of {path_of(value._stream._tool)}(...)", "read it with `async for`, and pass on what you need of it.")
        if inspect.isawaitable(value):
            self.refuse(f"a {kind}", "await it first.")
        if isinstance(value, (bytes, bytearray, memoryview)):
            self.refuse("bytes", "decode them, or write them in base64 first.")
        if isinstance(value, (collections.abc.Iterator, collections.abc.AsyncIterator)):
            self.refuse(f"a {kind}", "make a list of it first.")
        if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, Record):
            self.refuse(f"the method {value.__name__} of a result", f'write ["{value.__name__}"] for the field of that name.')
        if isinstance(value, (type, types.ModuleType)) or callable(value):
            noun = "class" if isinstance(value, type) else "module" if isinstance(value, types.ModuleType) else "function"
            self.refuse(f"a {noun}", "JSON holds data only.")
        self.refuse(f"an object of the class {kind}", BUILD_DICT)

    def count(self, length):
        self.size += length
        if self.size > self.frame_bytes:
            raise ValueRefused(
                TOO_LARGE,
                f"{self.what} more than {self.frame_bytes} characters of JSON. Pass on only what is needed: select, aggregate or count first.",
            )

    def note(self, text):
        if self.notes is not None and len(self.notes) < NOTES:
            self.notes.append(shorten(text, 256))

    def refuse(self, thing, advice):
        raise ValueRefused("value_not_json", f"{self.what} {thing}{self.place()}: {advice}")

    def place(self):
        text = "".join(f"[{part if isinstance(part, int) else json_text(part)}]" for part in self.path)
        return f" at {shorten(text, 160)}" if text else ""


def name_of(key):
    """The field name in JSON for a key of a dict; None if there is none."""
    if is_disguised(key):
        return None
    if isinstance(key, enum.Enum):
        return name_of(key.value)
    if isinstance(key, str):
        return str(key)
    if isinstance(key, float) and not math.isfinite(key):
        return str(key)
    if key is None or isinstance(key, (bool, int, float)):
        return json_text(key)
    if isinstance(key, (datetime.date, datetime.time, uuid.UUID)):
        return str(key) if isinstance(key, uuid.UUID) else key.isoformat()
    return None


def is_disguised(value):
    """Whether `__class__` of a value is not its type, as with mocks and proxies. isinstance cannot be relied on for these."""
    try:
        return value.__class__ is not type(value)
    except Exception:
        return True


def has_fields(value):
    """Whether JSON of a value is an object."""
    if is_disguised(value) or isinstance(value, type):
        return False
    return isinstance(value, (dict, collections.abc.Mapping, types.SimpleNamespace)) or hasattr(type(value), "__dataclass_fields__")


def is_awaitable(value):
    return not is_disguised(value) and not isinstance(value, ToolStream) and inspect.isawaitable(value)


def in_order(items):
    """A set as a list, sorted if its items can be compared. The order of a set has no meaning to a program."""
    try:
        return sorted(items)
    except TypeError:
        return list(items)


# ---- the bridge ------------------------------------------------------------------------------------------------------


class Bridge:
    """The two descriptors, moved to numbers that a program or its children do not use by accident."""

    def __init__(self, incoming, outgoing):
        private_in, private_out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (incoming, outgoing))
        for fd in {incoming, outgoing}:
            os.close(fd)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        self._reader = open(private_in, "rb", buffering=65_536)
        self._out = private_out
        self._write = os.write
        # A forked child must not send frames as if it were the guest.
        os.register_at_fork(after_in_child=lambda: [os.close(fd) for fd in (private_in, private_out)])

    def receive(self):
        """The next frame. Ends the process if the host has closed the connection."""
        try:
            prefix = self._reader.read(4)
            frame = self._reader.read(int.from_bytes(prefix, "big")) if len(prefix) == 4 else b""
        except (OSError, ValueError):
            leave()
        if len(prefix) < 4 or len(frame) < int.from_bytes(prefix, "big"):
            leave()
        return frame

    def send(self, frames):
        data = memoryview(b"".join([part for frame in frames for part in (len(frame).to_bytes(4, "big"), frame)]))
        try:
            while data:
                data = data[self._write(self._out, data) :]
        except OSError:
            leave()


# ---- what is printed -------------------------------------------------------------------------------------------------


class Log:
    """Printed text.

    Lines are sent whole and at once until `printedBytes` are spent. After that the latest lines, shortened, are kept and
    sent at the end.
    """

    def __init__(self, append):
        self._append = append
        self.log_bytes = 0
        self.printed_bytes = 0
        self._pending = []
        self._pending_length = 0
        self._pending_stream = "stdout"
        self._pending_dropped = 0
        self._head_bytes = 0
        self._tail = collections.deque()
        self._tail_bytes = 0
        self._dropped = 0
        self.streams = [Printed(self, "stdout"), Printed(self, "stderr")]

    def longest_line(self):
        return min(LINE_LENGTH, max(0, self.log_bytes - 64))

    def room(self):
        """Bytes that a line may have, with its line break, to be sent whole."""
        is_head = not self._tail and self._dropped == 0
        return self.printed_bytes - self._head_bytes if is_head else 0

    def held_length(self):
        """Characters of a line that are held until its end. A line that is longer is not sent whole."""
        return max(LINE_LENGTH, self.room()) + 1

    def add(self, stream, text, left_out):
        """Adds a line without its line break. `left_out` counts the characters that were cut from it already."""
        room = self.room()
        if left_out == 0 and len(text) < room:
            size = utf8_size(text) + 1 + (0 if stream == self._pending_stream else FRAME_BYTES)
            if size <= room:
                self._head_bytes += size
                self._send(stream, f"{text}\n", 0)
                return
        longest = self.longest_line()
        if 4 * len(text) > longest and utf8_size(text) > longest:
            kept = utf8_start(text, longest)
            text, left_out = kept, left_out + units(text) - units(kept)
        line = f"{text}… [{left_out} more characters of this line left out]\n" if left_out > 0 else f"{text}\n"
        size = utf8_size(line)
        self._tail.append((stream, line, size))
        self._tail_bytes += size
        while self._tail_bytes > self.log_bytes and self._tail:
            self._tail_bytes -= self._tail.popleft()[2]
            self._dropped += 1

    def _send(self, stream, line, dropped_before):
        if self._pending and (stream != self._pending_stream or dropped_before > 0):
            self.flush()
        self._pending_stream = stream
        self._pending_dropped += dropped_before
        while len(line) > PIECE_LENGTH - self._pending_length:
            room = PIECE_LENGTH - self._pending_length
            self._pending.append(line[:room])
            self.flush()
            self._pending_stream = stream
            line = line[room:]
        self._pending.append(line)
        self._pending_length += len(line)

    def flush_tail(self):
        for stream in self.streams:
            stream.end_line()
        dropped_before = self._dropped
        for stream, line, _ in self._tail:
            self._send(stream, line, dropped_before)
            dropped_before = 0
        if dropped_before > 0:
            self._send("stdout", "", dropped_before)
        self._tail.clear()
        self._tail_bytes = 0
        self.flush()

    def flush(self):
        if not self._pending:
            return
        header = {"kind": "output", "stream": self._pending_stream, "dropped": self._pending_dropped}
        self._append(header, json_bytes("".join(self._pending)))
        self._pending = []
        self._pending_length = 0
        self._pending_dropped = 0


class Printed(io.TextIOBase):
    """`sys.stdout` or `sys.stderr` of a program. Complete lines go into the log; an incomplete one is kept until its end."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, log, stream):
        self._log = log
        self._stream = stream
        self._parts = []
        self._length = 0
        self._left_out = 0

    def writable(self):
        return True

    @functools.cached_property
    def buffer(self):
        return PrintedBytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() takes a str, not {type(text).__name__}")
        written = len(text)
        if " at 0x" in text:
            text = ADDRESS.sub("", text)
        *lines, rest = text.split("\n")
        for line in lines:
            self._hold(line)
            self._end()
        if rest:
            self._hold(rest)
        return written

    def _hold(self, text):
        room = self._log.held_length() - self._length
        self._left_out += max(0, len(text) - room)
        text = text[: max(0, room)]
        self._parts.append(text)
        self._length += len(text)

    def _end(self):
        text, left_out = "".join(self._parts), self._left_out
        self._parts, self._length, self._left_out = [], 0, 0
        self._log.add(self._stream, text, left_out)

    def end_line(self):
        if self._parts:
            self._end()


class PrintedBytes(io.RawIOBase):
    """`sys.stdout.buffer`."""

    def __init__(self, text):
        self._text = text

    def writable(self):
        return True

    def write(self, data):
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


# ---- futures and tasks -----------------------------------------------------------------------------------------------

next_number = itertools.count(1).__next__


PlainFuture = asyncio.Future


class FutureClass(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, PlainFuture) if cls is Future else type.__instancecheck__(cls, instance)


class Future(PlainFuture, metaclass=FutureClass):
    """A future whose hash is a serial number, so that sets of futures have the same order in each run."""

    __slots__ = ("_number",)

    def __new__(cls, *args, **options):
        self = super().__new__(cls)
        self._number = next_number()
        return self

    def __hash__(self):
        return self._number


class Task(asyncio.Task):
    """A task whose hash is a serial number."""

    __slots__ = ("_number",)

    def __new__(cls, *args, **options):
        self = super().__new__(cls)
        self._number = next_number()
        return self

    def __hash__(self):
        return self._number


def hash_of_gathering(gathering):
    return vars(gathering).setdefault("_number", next_number())


class ToolError(Exception):
    """Raised by a call that was refused or has failed."""

    __module__ = "__main__"

    def __init__(self, code, tool, message):
        super().__init__(message)
        self.code = code
        self.tool = tool
        self.message = message
        self.value = None


class ToolCall(Future):
    """An open call. Using it as if it were its result raises an error that says to await it."""

    __slots__ = ("_tool",)

    def _not_yet(self, what):
        return f"{path_of(self._tool)}(...) is a call without its result, and {what}: await it first"

    def __getattr__(self, name):
        raise AttributeError(self._not_yet(f"has no '{name}'"))

    def __getitem__(self, key):
        raise TypeError(self._not_yet("cannot be subscripted"))

    def __iter__(self):
        raise TypeError(self._not_yet("cannot be iterated over"))

    def __len__(self):
        raise TypeError(self._not_yet("has no length"))

    def __contains__(self, item):
        raise TypeError(self._not_yet("holds nothing"))

    def __bool__(self):
        raise TypeError(self._not_yet("is neither true nor false"))

    def __eq__(self, other):
        # Programs and asyncio search lists of futures, so futures are compared by identity.
        if isinstance(other, PlainFuture):
            return self is other
        raise TypeError(self._not_yet("equals nothing"))

    __hash__ = Future.__hash__

    def __repr__(self):
        return f"<call of {path_of(self._tool)}, {'done' if self.done() else 'under way'}>"


class Stream:
    """
    An open call that is answered with a stream. It is ended as any other call is, and refers to none of the objects by
    which the program reads it: it has to be told when the program has dropped them.
    """

    __slots__ = ("_guest", "_tool", "number", "is_open", "items", "_batches", "_error", "_waiting")

    def __init__(self, guest, tool):
        self._guest = guest
        self._tool = tool
        self.number = None
        self.is_open = True
        # Items of the batch that the program reads, the last one first, and JSON of the batches that it has not begun.
        self.items = []
        self._batches = collections.deque()
        self._error = None
        self._waiting = []

    def done(self):
        return not self.is_open

    def set_result(self, _):
        self.is_open = False
        self._wake()

    def set_exception(self, error):
        self._error = error
        self.set_result(None)

    def take(self, batch):
        self._batches.append(batch)
        self._wake()

    def _wake(self):
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    def begin_batch(self):
        """Begins the batch after the one that was read, and asks for another. Tells whether there are items then."""
        while not self.items and self._batches:
            # Both may fail when the stack is full, so the batch is taken after them.
            items = parse_result(self._batches[0])
            if self.is_open:
                self._guest.ask_for_batch(self)
            items.reverse()
            self.items = items
            self._batches.popleft()
        return bool(self.items)

    def next_error(self):
        """How a stream that has no more items ends: with its error, which is told once, or as any iterator."""
        error, self._error = self._error, None
        return error or StopAsyncIteration()

    async def arrival(self):
        """Waits until something may have arrived."""
        one = self._guest.loop.create_future()
        self._waiting.append(one)
        try:
            await one
        finally:
            if one in self._waiting:
                self._waiting.remove(one)

    def cancel(self):
        """The program reads no more of it."""
        if self.is_open:
            self._guest.cancel_stream(self)
        self._batches.clear()
        self.items = []
        self._error = None
        self.set_result(None)

    def drop(self):
        self._guest.drop_stream(self)


def stream_misused(kind, tool, message):
    error = kind(message)
    error.code, error.tool = STREAM_MISUSED, tool
    return error


class StreamReader:
    """
    What reads a stream. A loop that is left by `break`, or by an error, drops it at once, and so the stream is
    cancelled. A program that keeps the reader closes it with `aclose`, or leaves it open until its end.
    """

    __slots__ = ("_stream", "_number", "__weakref__")

    def __init__(self, stream):
        self._stream = stream
        self._number = next_number()

    def __aiter__(self):
        return self

    async def __anext__(self):
        stream = self._stream
        while not (stream.items or stream.begin_batch()):
            if not stream.is_open:
                raise stream.next_error()
            try:
                await stream.arrival()
            except BaseException:
                self = None  # The traceback of this error must not keep it.
                raise
        return stream.items.pop()

    async def aclose(self):
        self._stream.cancel()

    def __del__(self):
        self._stream.drop()

    def __hash__(self):
        return self._number

    def __repr__(self):
        return f"<reader of {path_of(self._stream._tool)}>"


class ToolStream:
    """
    The stream that a call is answered with. It is read once. Using it as if it were a list or a call raises an error that
    says how to read it.
    """

    __slots__ = ("_stream", "_reader", "_reads", "_number")

    def __init__(self, stream):
        self._stream = stream
        # Until a loop reads the stream. From then on only the loop has the reader, so that its end drops it.
        self._reader = StreamReader(stream)
        self._reads = weakref.ref(self._reader)
        self._number = next_number()

    def __aiter__(self):
        reader, self._reader = self._reader, None
        if reader is None:
            raise self._read_twice()
        self._stream._guest.note_read(self._stream)
        return reader

    def __anext__(self):
        reader = self._reads()
        if reader is None:
            raise self._read_twice()
        self._stream._guest.note_read(self._stream)
        return reader.__anext__()

    async def aclose(self):
        self._stream._guest.note_read(self._stream)
        self._stream.cancel()

    def _read_twice(self):
        tool = self._stream._tool
        return stream_misused(
            TypeError,
            tool,
            f"The stream of {path_of(tool)}(...) is read by another loop, or was: a stream is read once. "
            "Call the tool again, or keep the items that you need.",
        )

    def _misused(self, what, kind=TypeError):
        tool = self._stream._tool
        return stream_misused(
            kind,
            tool,
            f"{path_of(tool)}(...) gives a stream of items, which {what}: read it with `async for item in ...`, "
            "or collect a small one with `[item async for item in ...]`.",
        )

    def __await__(self):
        raise self._misused("cannot be awaited")

    def __getattr__(self, name):
        raise self._misused(f"has no '{shorten(name, 64)}'", AttributeError)

    def __getitem__(self, key):
        raise self._misused("cannot be subscripted")

    def __iter__(self):
        raise self._misused("come later and not at once")

    def __len__(self):
        raise self._misused("has no length")

    def __contains__(self, item):
        raise self._misused("cannot be searched")

    def __bool__(self):
        raise self._misused("is neither true nor false")

    def __eq__(self, other):
        if isinstance(other, ToolStream):
            return self is other
        raise self._misused("equals nothing")

    def __hash__(self):
        return self._number

    def __reduce_ex__(self, protocol):
        raise self._misused("cannot be copied")

    def __repr__(self):
        return f"<stream of {path_of(self._stream._tool)}>"


async def result_of(awaitable):
    return await awaitable


def json_default(encoder, value):
    if isinstance(value, ToolCall):
        raise TypeError(value._not_yet("has no form in JSON"))
    if isinstance(value, ToolStream):
        raise value._misused("have no form in JSON")
    return plain_json_default(encoder, value)


plain_json_default = json.JSONEncoder.default
json.JSONEncoder.default = json_default


class Timer(asyncio.TimerHandle):
    """`number` is its id while it is open; `place` is the turn that armed it and the index of its command in the outbox."""

    __slots__ = ("number", "place")


class Loop(asyncio.AbstractEventLoop):
    """An event loop that never blocks: it runs until nothing is ready, which ends the turn."""

    def __init__(self, guest):
        self._guest = guest
        self._ready = collections.deque()
        self._exception_handler = None
        self._task_factory = None

    def run_turn(self):
        while self._ready and not self._guest.settled:
            handle = self._ready.popleft()
            if handle.cancelled():
                continue
            try:
                handle._run()
            except SystemExit as error:
                self._guest.exit_with(error)
            except BaseException as error:
                self._guest.fail(error)

    def time(self):
        return self._guest.elapsed()

    def call_soon(self, callback, *args, context=None):
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay, callback, *args, context=None):
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):
        timer = Timer(when, callback, args, self, context)
        timer.number = timer.place = None
        wait = (when - self.time()) * 1000
        if math.isnan(wait):
            raise ValueError("A delay has to be a number.")
        # Fractions of a millisecond are rounding errors of floats.
        wait = math.ceil(min(wait, LONGEST_TIMER_MS) - 0.001)
        if wait < 1:
            self._ready.append(timer)
        else:
            self._guest.arm(timer, wait)
        return timer

    def fire(self, timer):
        self._ready.append(timer)

    def _timer_handle_cancelled(self, timer):
        self._guest.disarm(timer)

    def create_future(self):
        return Future(loop=self)

    def create_task(self, coro, *, name=None, context=None, **options):
        if not asyncio.iscoroutine(coro) and inspect.isawaitable(coro):
            coro = result_of(coro)  # Programs often make a task of a call, which is a future.
        if self._task_factory is not None:
            task = self._task_factory(self, coro, **({} if context is None else {"context": context}))
        else:
            task = Task(coro, loop=self, name=name, context=context)
        task.add_done_callback(self._guest.keep_failed)
        return task

    def set_task_factory(self, factory):
        self._task_factory = factory

    def get_task_factory(self):
        return self._task_factory

    def run_in_executor(self, executor, func, *args):
        """Runs the function in the loop, after what is ready now. A thread could not be replayed."""
        future = self.create_future()

        def run():
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except StopIteration as error:  # A future cannot hold it.
                wrapped = RuntimeError("function raised StopIteration")
                wrapped.__cause__ = error
                future.set_exception(wrapped)
            except Exception as error:
                future.set_exception(error)

        self.call_soon(run)
        return future

    def get_exception_handler(self):
        return self._exception_handler

    def set_exception_handler(self, handler):
        self._exception_handler = handler

    def call_exception_handler(self, context):
        if self._exception_handler is not None:
            self._exception_handler(self, context)
        else:
            self.default_exception_handler(context)

    def default_exception_handler(self, context):
        """An exception in a callback ends the program. A failed task or call that is not awaited does not."""
        if "handle" in context and context.get("exception") is not None:
            self._guest.fail(context["exception"])

    def get_debug(self):
        return False

    def set_debug(self, enabled):
        pass

    def is_running(self):
        return True

    def is_closed(self):
        return False

    def close(self):
        pass

    def stop(self):
        pass

    async def shutdown_asyncgens(self):
        pass

    async def shutdown_default_executor(self, timeout=None):
        pass

    def run_until_complete(self, future):
        already_running(future)

    def run_forever(self):
        already_running(None)


def already_running(main, **options):
    if inspect.iscoroutine(main):
        main.close()
    raise RuntimeError(
        "The program is the body of an async function, and its event loop runs already: "
        "write `await main()` at its end instead of asyncio.run(main())."
    )


class Runner:
    def __init__(self, **options):
        raise RuntimeError(
            "The program is the body of an async function, and its event loop runs already: "
            "write `await main()` where asyncio.Runner() would run it."
        )


def absent(name):
    def method(self, *args, **options):
        raise NotImplementedError(f"There is no {name} in a program. What is outside is reached through `tools`.")

    return method


for name in (
    "create_connection create_server create_unix_connection create_unix_server create_datagram_endpoint sendfile start_tls "
    "connect_read_pipe connect_write_pipe connect_accepted_socket subprocess_exec subprocess_shell add_reader "
    "remove_reader add_writer remove_writer sock_recv sock_recv_into sock_sendall sock_connect sock_accept "
    "sock_sendfile getaddrinfo getnameinfo add_signal_handler remove_signal_handler"
).split():
    setattr(Loop, name, absent(f"loop.{name}"))


# ---- tools -----------------------------------------------------------------------------------------------------------


class ToolFunction:
    """A tool that a program may call. Calling it sends the call at once and returns a `ToolCall` or a `ToolStream`."""

    __slots__ = ("__name__", "__qualname__", "_call")

    def __init__(self, name, call):
        for field, value in (("__name__", name), ("__qualname__", name), ("_call", call)):
            object.__setattr__(self, field, value)

    def __call__(self, /, *inputs, **fields):
        return self._call(self.__name__, inputs, fields)

    def __getattr__(self, name):
        raise AttributeError(f"tools.{self.__name__} is a tool, and has no '{name}'")

    def __setattr__(self, name, value):
        raise AttributeError("tools cannot be changed")

    def __hash__(self):
        return hash(self.__name__)

    def __repr__(self):
        return f"<tool {self.__name__}>"


class ToolNamespace:
    """`tools`, or a namespace in it. Names that are not identifiers are reached as `tools["from"]`."""

    __slots__ = ("__path", "__tools")

    def __init__(self, path, tools):
        object.__setattr__(self, "_ToolNamespace__path", path)
        object.__setattr__(self, "_ToolNamespace__tools", tools)

    def __getattr__(self, name):
        try:
            return self.__tools[name]
        except KeyError:
            raise AttributeError(f"{self.__path} has no tool '{name}'") from None

    def __getitem__(self, name):
        found = self
        for part in str(name).split("."):
            found = getattr(found, part)
        return found

    def __setattr__(self, name, value):
        raise AttributeError("tools cannot be changed")

    def __delattr__(self, name):
        raise AttributeError("tools cannot be changed")

    def __hash__(self):
        return hash(self.__path)

    def __contains__(self, name):
        return name in self.__tools

    def __iter__(self):
        return iter(self.__tools)

    def __dir__(self):
        return list(self.__tools)

    def __repr__(self):
        return f"<{self.__path}: {', '.join(self.__tools)}>"


class GlobalFunction(ToolFunction):
    """A function of programs that makes calls and is none of `tools`."""

    __slots__ = ()

    def __getattr__(self, name):
        raise AttributeError(f"{FUNCTIONS[self.__name__]} is a function, and has no '{name}'")

    def __repr__(self):
        return f"<function {FUNCTIONS[self.__name__]}>"


class SaveFunction(GlobalFunction):
    """`save`: keeps a value under a name."""

    __slots__ = ()

    def __init__(self, call):
        super().__init__(SAVE_ARTIFACT, call)


class LoadFunction(GlobalFunction):
    """`load`: reads a value that was kept."""

    __slots__ = ()

    def __init__(self, call):
        super().__init__(LOAD_ARTIFACT, call)

    def __call__(self, /, *inputs, **fields):
        if len(inputs) == 1 and isinstance(inputs[0], str) and not fields:
            return self._call(LOAD_ARTIFACT, (), {"name": inputs[0]})
        return self._call(LOAD_ARTIFACT, inputs, fields)


class SearchFunction(GlobalFunction):
    """`searchTools`: the search among the tools, which takes a query and a limit."""

    __slots__ = ()

    def __init__(self, call):
        super().__init__(SEARCH_TOOLS, call)

    def __call__(self, /, *inputs, **fields):
        if len(inputs) == 1 and has_fields(inputs[0]):
            return self._call(SEARCH_TOOLS, inputs, fields)
        named = dict(zip(("query", "limit"), inputs))
        if len(inputs) > 2 or not named.keys().isdisjoint(fields):
            return self._call(SEARCH_TOOLS, inputs, fields)
        return self._call(SEARCH_TOOLS, (), {**named, **fields})


def path_of(tool):
    """How a program writes a tool."""
    return FUNCTIONS.get(tool) or f"tools.{tool}"


def tool_tree(names, call, streaming, stream):
    tree = {}
    for name in names:
        *path, last = name.split(".")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = ToolFunction(name, stream if name in streaming else call)
    return tool_namespace("tools", tree)


def tool_namespace(path, tree):
    return ToolNamespace(
        path, {name: tool_namespace(f"{path}.{name}", one) if isinstance(one, dict) else one for name, one in tree.items()}
    )


# ---- the program -----------------------------------------------------------------------------------------------------


class Program:
    """A program compiled as an async function whose variables are those of a module, as its author expects."""

    def __init__(self, source):
        self.lines, self.margin = without_margin(re.split(r"\r\n|\r|\n", source))
        text = "\n".join(self.lines)
        # Printed tracebacks show these lines.
        linecache.cache[PROGRAM_FILE] = (len(text), None, [f"{line}\n" for line in self.lines], PROGRAM_FILE)
        tree = ast.parse(text, PROGRAM_FILE)
        flags = 0
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                flags |= functools.reduce(
                    lambda sum, one: sum | getattr(getattr(__future__, one.name, None), "compiler_flag", 0), statement.names, 0
                )
                statement.names = []
        body = [one for one in tree.body if not (isinstance(one, ast.ImportFrom) and not one.names)]
        self.entry = uncalled_function(body)
        divert_type(tree)
        self.calls_result = len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Lambda)
        # The compiler accepts some thousand levels, as in a long sum, and all of them are visited here.
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(WALK_DEPTH)
        if "sleep" in text:
            sleeps = AsyncSleep(tree)
            body = [sleeps.visit(statement) for statement in body]
        body = [TopLevel().visit(statement) for statement in body]
        sys.setrecursionlimit(usual)
        return_last_expression(body)
        self.code = compile_function([one for one in body if one is not None], flags)

    def position(self, error):
        """Position of the innermost frame of the program in an error's traceback."""
        found, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == PROGRAM_FILE:
                found = trace
            trace = trace.tb_next
        if found is None:
            return {}
        code, index = found.tb_frame.f_code, found.tb_lasti // 2
        line, _, column, _ = next(itertools.islice(code.co_positions(), index, None), (found.tb_lineno, None, None, None))
        line = line or found.tb_lineno
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        before = text[: len(text) - len(text.lstrip())] if column is None else text.encode()[:column].decode("utf-8", "ignore")
        return {"line": line, "column": units(before) + 1 + self.margin}


def without_margin(lines):
    """Lines of an indented program without their common indentation, and the length of that."""
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    margin = first[: len(first) - len(first.lstrip())]
    if margin and all(line.startswith(margin) or not line.strip() or line.lstrip().startswith("#") for line in lines):
        return [line.removeprefix(margin) for line in lines], len(margin)
    return lines, 0


# Names of the guest's functions in the program's code, where the guest has replaced what the author wrote.
IMPORT_ALL = "__import_all__"
MAKE_CLASS = "__make_class__"
SLEEP = "__sleep__"


def import_all(names, module, level):
    """`from module import *` into the variables of a program."""
    found = __import__(module, names, None, ("*",), level)
    public = getattr(found, "__all__", None)
    if public is None:
        public = [name for name in vars(found) if not name.startswith("_")]
    names.update({name: getattr(found, name) for name in public})


# Packages that models often import, and what to use instead. The host has a sentence for all others.
INSTEAD = {
    **dict.fromkeys(["pandas", "polars"], "use lists of dicts with sorted(), collections and statistics."),
    **dict.fromkeys(["numpy", "scipy"], "use lists with math, statistics and itertools."),
    **dict.fromkeys(["requests", "httpx", "aiohttp", "urllib3"], "call a tool that fetches what is needed."),
    **dict.fromkeys(["dateutil", "pytz", "arrow", "pendulum"], "use datetime and zoneinfo."),
}
NETWORK_MODULES = {"urllib.request", "http.client"}


def explain_imports(names):
    """Makes a program's import of what it cannot use say what to use instead. Imports inside the standard library are unchanged."""
    plain_import = builtins.__import__
    # Only a container that may reach hosts has a proxy.
    has_network = any(name.lower() == "http_proxy" for name in os.environ)

    def import_module(name, globals=None, locals=None, fromlist=(), level=0):
        if globals is not names:
            return plain_import(name, globals, locals, fromlist, level)
        wanted = NETWORK_MODULES & {name, *(f"{name}.{one}" for one in fromlist or ())}
        if wanted and not has_network:
            module = min(wanted)
            raise ImportError(f"There is no network for {module}: {INSTEAD['requests']}", name=module)
        package, *path = name.split(".")
        if package == "tools":
            found = functools.reduce(getattr, path if fromlist else (), names["tools"])
            if all(hasattr(found, one) for one in fromlist or ()):
                return found
            message = "`tools` is there already and is no module: call `await tools.NAME(...)` without an import."
            raise ModuleNotFoundError(message, name=package)
        try:
            return plain_import(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            if error.name != package or package not in INSTEAD:
                raise
            raise ModuleNotFoundError(f"There is no package {package}: {INSTEAD[package]}", name=package) from None

    builtins.__import__ = import_module


def divert_type(tree):
    """Replaces `type(name, bases, namespace)` by a call of the guest, which then makes classes as for `class` statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) == 3:
            node.args.insert(0, node.func)
            node.func = ast.copy_location(ast.Name(MAKE_CLASS, ast.Load()), node.func)


class AsyncSleep(ast.NodeTransformer):
    """
    Turns `time.sleep(n)` in the program's body and in async functions into a wait of the event loop. What a call named
    `sleep` really calls is known only when it runs, so the guest is handed the function and decides then.
    """

    def __init__(self, tree):
        imports = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module == "time"]
        self._names = {"sleep", *(name.asname for one in imports for name in one.names if name.name == "sleep")}
        self._can_await = True

    def _visit_parts(self, node, can_await):
        before, self._can_await = self._can_await, can_await
        self.generic_visit(node)
        self._can_await = before
        return node

    def visit_FunctionDef(self, node):
        return self._visit_parts(node, False)

    visit_ClassDef = visit_Lambda = visit_GeneratorExp = visit_FunctionDef

    def visit_AsyncFunctionDef(self, node):
        # Decorators and defaults are evaluated outside of the function.
        body, node.body = node.body, []
        self._visit_parts(node, False)
        node.body = self._visit_parts(ast.Module(body=body, type_ignores=[]), True).body
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if not self._can_await or not self._may_sleep(node.func):
            return node
        call = ast.Call(func=ast.Name(SLEEP, ast.Load()), args=[node.func, *node.args], keywords=node.keywords)
        return ast.copy_location(ast.Await(ast.copy_location(call, node)), node)

    def _may_sleep(self, function):
        if isinstance(function, ast.Attribute):
            return function.attr == "sleep" and not (isinstance(function.value, ast.Name) and function.value.id == "asyncio")
        return isinstance(function, ast.Name) and function.id in self._names


async def sleep_or_call(function, /, *args, **options):
    """What a call of a function named `sleep` becomes."""
    if function is not time.sleep or len(args) != 1 or options:
        return function(*args, **options)
    if args[0] < 0:
        raise ValueError("sleep length must be non-negative")
    await asyncio.sleep(args[0])


class TopLevel(ast.NodeTransformer):
    """Adapts module-level code to its place in an async function."""

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_GeneratorExp = visit_FunctionDef

    def visit_AnnAssign(self, node):
        """A global name cannot be annotated inside a function."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        value = node.value
        return ast.copy_location(ast.Pass() if value is None else ast.Assign(targets=[node.target], value=value), node)

    def visit_ImportFrom(self, node):
        """`import *` is allowed at module level only, so a call of the guest takes its place."""
        if node.names[0].name != "*":
            return node
        arguments = [ast.Constant(node.module or ""), ast.Constant(node.level)]
        call = ast.Call(func=ast.Name(IMPORT_ALL, ast.Load()), args=arguments, keywords=[])
        return ast.copy_location(ast.Expr(call), node)

    def visit_Call(self, node):
        self.generic_visit(node)
        runs = isinstance(node.func, ast.Attribute) and (
            node.func.attr == "run_until_complete"
            or (node.func.attr == "run" and isinstance(node.func.value, ast.Name) and node.func.value.id == "asyncio")
        )
        return ast.copy_location(ast.Await(node.args[0]), node) if runs and len(node.args) == 1 else node

    def visit_Yield(self, node):
        place = (PROGRAM_FILE, node.lineno, node.col_offset + 1, None)
        raise SyntaxError("A program cannot yield: return the value instead, with `return`.", place)


def uncalled_function(body):
    """The function to call in a program that only declares functions: the only one, or `main`."""
    functions = [one.name for one in body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    others = [one for one in body if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    declaring = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Assign, ast.AnnAssign)
    if not functions or not all(isinstance(one, declaring) or is_text(one) for one in others):
        return None
    name = functions[0] if len(functions) == 1 else "main" if "main" in functions else None
    used = {node.id for one in others for node in ast.walk(one) if isinstance(node, ast.Name)}
    return None if name in used else name


def is_text(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)


def return_last_expression(body):
    last = body[-1] if body else None
    if isinstance(last, ast.Expr) and not (is_text(last) and len(body) > 1 and all(is_text(one) for one in body)):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    elif isinstance(last, ast.If) and not last.orelse and ast.unparse(last.test) == "__name__ == '__main__'":
        return_last_expression(last.body)


def compile_function(body, flags):
    def compiled(statements):
        function = ast.AsyncFunctionDef(
            name=PROGRAM_FUNCTION,
            args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
            body=statements or [ast.Pass()],
            decorator_list=[],
            type_params=[],
        )
        module = ast.fix_missing_locations(ast.Module(body=[function], type_ignores=[]))
        return compile(module, PROGRAM_FILE, "exec", flags, dont_inherit=True)

    first = compiled(body)
    code = next(one for one in first.co_consts if isinstance(one, types.CodeType))
    # A variable that an inner function declares `nonlocal` must stay local to the program's function.
    kept = {name for one in body for node in ast.walk(one) if isinstance(node, ast.Nonlocal) for name in node.names}
    names = sorted({*code.co_varnames, *code.co_cellvars} - kept)
    return compiled([ast.Global(names=names), *body]) if names else first


# ---- the guest -------------------------------------------------------------------------------------------------------


class Guest:
    """Turns each event into a turn: holds open calls and timers, the commands to send, and the ending."""

    def __init__(self, bridge):
        self._bridge = bridge
        # Frames of this turn. None replaces a command that was taken back.
        self._outbox = []
        self._turn = 0
        self._failed = []
        self._calls = {}
        # Streams that the program has not begun to read, and those that it dropped in this turn.
        self._unread = {}
        self._dropped = []
        # Whether the interpreter looks for cycles. When it does so is no part of a replay.
        self.collects = False
        # For each tool that has exactly one required field, that field.
        self._positional = {}
        self._timers = {}
        self._last_id = 0
        self._call_count = 0
        self._limits = {"calls": 0, "logBytes": 0, "frameBytes": 0}
        self._stopped = False
        self._program = None
        self._unreplayable = None
        self._unreplayable_sent = False
        self.settled = False
        self.now = 0
        self.started_at = 0
        self.log = Log(self._append)
        self.loop = Loop(self)

    def elapsed(self):
        """Seconds since the program began, by its own clock."""
        return (self.now - self.started_at) / 1000

    # -- what leaves

    def _append(self, header, body=None):
        if not self.settled:
            head = json_bytes(header)
            self._outbox.append(head if body is None else b"%b\n%b" % (head, body))

    def _emit(self, header, body=None):
        self.log.flush()
        self._append(header, body)

    def greet(self):
        self._append({"kind": "ready", "protocol": PROTOCOL_VERSION, "language": "python"})
        self._send()

    def _send(self):
        frames, self._outbox = [frame for frame in self._outbox if frame is not None], []
        self._turn += 1
        if frames:
            self._bridge.send(frames)

    def _end_turn(self):
        if self.settled:
            return
        self._cancel_dropped()
        if self._stopped:
            self.log.flush_tail()
        self._send_unreplayable()
        self._emit({"kind": "turn_end", "open": len(self._calls) + len(self._timers)})

    # -- what arrives

    def run(self):
        while True:
            frame = self._bridge.receive()
            try:
                self._deliver(frame)
                self.loop.run_turn()
            except BaseException as error:  # The program has changed something that the guest needs.
                self.fail(error)
            self._end_turn()
            self._send()

    def _deliver(self, frame):
        head, _, body = frame.partition(b"\n")
        header = parse_json(head)
        self.now = max(self.now, header["now"])
        if self.settled:
            return
        if header["kind"] == "answer":
            self._answer(header, body)
        elif header["kind"] == "items":
            stream = self._calls.get(header["id"])
            if stream is not None:
                stream.take(body)
        elif header["kind"] == "fire":
            timer = self._timers.pop(header["id"], None)
            if timer is not None:
                timer.number = None
                self.loop.fire(timer)
        elif header["kind"] == "start":
            self._start(header, parse_json(body))
        elif header["kind"] == "stop":
            self._stop()

    def _start(self, header, body):
        self.started_at = header["now"]
        self._limits = header["limits"]
        self.log.log_bytes = self._limits["logBytes"]
        self.log.printed_bytes = self._limits["printedBytes"]
        seed_chance(header["seed"])
        module = types.ModuleType("__main__")
        tools = tool_tree(body["tools"], self.call, set(body.get("streams", ())), self.stream)
        self._positional = body.get("positional", {})
        functions = {"searchTools": SearchFunction(self.call), "save": SaveFunction(self.call), "load": LoadFunction(self.call)}
        vars(module).update(functions, tools=tools, ToolError=ToolError, asyncio=asyncio, __file__=PROGRAM_FILE)
        sys.modules["__main__"] = module
        sys.argv = [PROGRAM_FILE]
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self.log.streams
        try:
            self._program = Program(body["program"])
        except SyntaxError as error:
            self._fail_with(syntax_fault(error, body["program"]))
            return
        except (RecursionError, MemoryError):
            self._fail_with({"name": "SyntaxError", "message": "The program is nested too deeply to be read.", "code": "syntax"})
            return
        exec(self._program.code, vars(module))
        function = vars(module).pop(PROGRAM_FUNCTION)
        give_stable_objects(vars(module))
        setattr(builtins, IMPORT_ALL, functools.partial(import_all, vars(module)))
        setattr(builtins, SLEEP, sleep_or_call)
        explain_imports(vars(module))
        # Seconds before Python 3.13, nanoseconds since.
        logging._startTime = type(logging._startTime)(time.time_ns() if isinstance(logging._startTime, int) else time.time())
        watch(self.note_unreplayable)
        self.loop.create_task(self._drive(function, vars(module)))

    async def _drive(self, function, names):
        try:
            value = await function()
            if value is None and self._program.entry is not None:
                value = call_with_tools(names[self._program.entry], names["tools"])
            elif self._program.calls_result:
                value = call_with_tools(value, names["tools"])
            while is_awaitable(value):
                value = await value
        except SystemExit:
            raise
        except BaseException as error:
            self.fail(error)
        else:
            self.succeed(value)

    def _stop(self):
        self._stopped = True
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.done():
                call.set_exception(ToolError("execution_stopped", call._tool, "The execution was stopped."))

    # -- the ending

    def succeed(self, value):
        notes = []
        body = None
        if value is not None:
            try:
                body = encode(value, "The program returned", self._limits["frameBytes"], notes)
            except BaseException as error:
                self.fail(error)
                return
        self._note_failed(notes)
        self._note_unread(notes)
        self._settle({"kind": "settled", "ok": True, "notes": notes}, body)

    def fail(self, error):
        self._fail_with(describe_fault(error, self._program))

    def keep_failed(self, future):
        """Keeps a task or a call whose exception nothing has retrieved yet."""
        if not getattr(future, "_log_traceback", False):
            return
        if len(self._failed) >= FAILED_KEPT:
            self._failed = [other for other in self._failed if other._log_traceback]
        if len(self._failed) < FAILED_KEPT:
            self._failed.append(future)

    def _note_failed(self, notes):
        """Notes that tasks or calls failed, and that nothing has awaited them."""
        failed = [future for future in self._failed if future._log_traceback]
        if not failed or len(notes) == NOTES:
            return
        fault = describe_fault(failed[0]._exception, self._program)
        more = len(failed) - 1
        others = "" if more == 0 else f" ({more} {'other' if more == 1 else 'others'} failed too.)"
        told = shorten(f"A task or call failed, and the program did not await it: {fault['name']}: {fault['message']}", 256 - len(others))
        notes.append(told + others)

    def _note_unread(self, notes):
        """Notes about streams that the program never read."""
        for stream in itertools.islice(self._unread, NOTES - len(notes)):
            notes.append(shorten(f"The program never read the stream of {stream._tool}. Read it with async for, or do not call it.", 256))

    def exit_with(self, error):
        if error.code in (None, 0, False):
            self.succeed(None)
        else:
            self._fail_with({**describe_fault(error, self._program), "message": ends_of(f"The program ended itself: {error.code}", 8192)})

    def _fail_with(self, fault):
        self._settle({"kind": "settled", "ok": False, "notes": []}, json_bytes(fault))

    def _settle(self, header, body):
        if self.settled:
            return
        self.log.flush_tail()
        self._send_unreplayable()
        self._emit(header, body)
        self.settled = True

    # -- calls

    def call(self, tool, inputs, fields):
        call = ToolCall(loop=self.loop)
        call._tool = tool
        try:
            self._send_call(call, tool, inputs, fields)
        except ToolError as error:
            call.set_exception(error)
            self.keep_failed(call)
        return call

    def _send_call(self, call, tool, inputs, fields):
        header = {"kind": "call", "id": self._last_id + 1, "tool": tool}
        if tool == SAVE_ARTIFACT:
            header["name"], given = self._saved(inputs, fields)
            what = "The value to save holds"
        else:
            given = self._input_of(tool, inputs, fields)
            what = f"The input of {tool} holds"
        if self._call_count > self._limits["calls"]:
            raise ToolError("budget_spent", tool, f"This execution may make {self._limits['calls']} calls, and has.")
        try:
            body = encode(given, what, self._limits["frameBytes"])
        except ValueRefused as error:
            code = "budget_spent" if error.code == TOO_LARGE else "input_invalid"
            raise ToolError(code, tool, str(error)) from None
        number = header["id"]
        # This may fail when the stack is full, so the counters are changed after it.
        self._emit(header, body)
        self._last_id = number
        self._call_count += 1
        self._calls[number] = call
        return number

    def _saved(self, inputs, fields):
        """The name and the value that are to be kept."""
        named = {**dict(zip(("name", "value"), inputs)), **fields}
        if len(inputs) + len(fields) != 2 or set(named) != {"name", "value"} or not isinstance(named["name"], str):
            raise ToolError(
                "input_invalid", SAVE_ARTIFACT, 'save takes a name, which is a str, and a value: await save("rows", rows).'
            )
        # A str of a subclass may have methods of its own.
        name = str.__str__(named["name"])
        if not 0 < units(name) <= NAME_LENGTH:
            raise ToolError(
                "input_invalid",
                SAVE_ARTIFACT,
                f"The name of a value has {units(name)} characters, and may have 1 to {NAME_LENGTH}.",
            )
        return name, named["value"]

    def _input_of(self, tool, inputs, fields):
        """The input that a call's arguments mean. A positional argument is the whole input, or the only required field."""
        if not inputs:
            return fields
        if len(inputs) > 1:
            raise ToolError(
                "input_invalid", tool, f"{tool} takes named fields, or one dict of them, not several positional arguments."
            )
        field = self._positional.get(tool)
        if has_fields(inputs[0]):
            if fields:
                raise ToolError("input_invalid", tool, f"{tool} takes named fields or one dict, not both at once.")
            return inputs[0]
        if field is None:
            if fields:
                raise ToolError("input_invalid", tool, f"{tool} takes named fields only: name the first argument too.")
            return inputs[0]
        if field in fields:
            raise ToolError("input_invalid", tool, f"{tool} was given {field} twice: as the positional argument and by its name.")
        return {field: inputs[0], **fields}

    def _answer(self, header, body):
        call = self._calls.pop(header["id"], None)
        if call is None or call.done():
            return
        if header["ok"]:
            call.set_result(parse_result(body))
        else:
            given = parse_result(body)
            failed = ToolError(given["code"], given["tool"], given["message"])
            failed.value = given.get("value")
            call.set_exception(failed)
            self.keep_failed(call)

    # -- streams

    def stream(self, tool, inputs, fields):
        stream = Stream(self, tool)
        try:
            stream.number = self._send_call(stream, tool, inputs, fields)
        except ToolError as error:
            # Like the refusal of any other call, this is told to the program where it waits for the result.
            stream.set_exception(error)
        self._unread[stream] = None
        return ToolStream(stream)

    def note_read(self, stream):
        self._unread.pop(stream, None)

    def ask_for_batch(self, stream):
        self._emit({"kind": "next", "id": stream.number})

    def cancel_stream(self, stream):
        self._emit({"kind": "cancel", "id": stream.number})
        del self._calls[stream.number]

    def drop_stream(self, stream):
        """
        Notes that nothing can read a stream any more. Such a stream is cancelled at the end of the turn. References are
        counted, so this happens at the same point in each run, unless the reference was part of a cycle.
        """
        if not self.collects:
            self._dropped.append(stream)

    def _cancel_dropped(self):
        dropped, self._dropped = self._dropped, []
        for stream in sorted((one for one in dropped if one.is_open), key=lambda one: one.number):
            stream.cancel()

    # -- timers

    def arm(self, timer, wait):
        if len(self._timers) >= TIMERS_AT_ONCE:
            raise RuntimeError(f"At most {TIMERS_AT_ONCE} timers may be open at once.")
        number = self._last_id + 1
        self._emit({"kind": "timer", "id": number, "ms": wait})
        self._last_id = number
        timer.number = number
        timer.place = (self._turn, len(self._outbox) - 1)
        self._timers[number] = timer

    def disarm(self, timer):
        if timer.number not in self._timers or self.settled:
            return
        turn, index = timer.place
        if turn == self._turn:  # The command has not been sent yet.
            self._outbox[index] = None
            while self._outbox and self._outbox[-1] is None:
                self._outbox.pop()
        else:
            self._emit({"kind": "clear", "id": timer.number})
        del self._timers[timer.number]

    # -- what would not replay

    def note_unreplayable(self, cause):
        self._unreplayable = self._unreplayable or cause

    def _send_unreplayable(self):
        if self._unreplayable is not None and not self._unreplayable_sent:
            self._unreplayable_sent = True
            self._emit({"kind": "unreplayable", "cause": self._unreplayable})


def call_with_tools(function, tools):
    """Calls a function with the tools if it has a parameter for them."""
    needed = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    return function(tools) if needed else function()


def syntax_fault(error, source):
    """The fault of a syntax error. Python may report a position after the end of the text."""
    fault = {"name": type(error).__name__, "message": f"{str(error.msg).rstrip('.')}.", "code": "syntax"}
    if fault["message"].startswith("f-string") and sys.version_info < (3, 12):
        fault["message"] += " Before Python 3.12, quotes within the braces must differ from those around the f-string."
    if error.lineno:
        lines, margin = without_margin(re.split(r"\r\n|\r|\n", source))
        line = min(error.lineno, len(lines))
        before = lines[line - 1][: max(0, (error.offset or 1) - 1)] if line == error.lineno else lines[line - 1]
        fault |= {"line": line, "column": units(before) + 1 + margin}
    return fault


# Sentences for errors that usually have no message.
SILENT_ERRORS = {
    asyncio.CancelledError: "The program was cancelled by a task or a timeout of its own.",
    TimeoutError: "A timeout expired.",
    AssertionError: "An assertion failed.",
    MemoryError: "There is not enough memory for this.",
    StopIteration: "An iterator was exhausted, and StopIteration was not caught.",
    StopAsyncIteration: "An asynchronous iterator was exhausted, and StopAsyncIteration was not caught.",
}
# Message of the RuntimeError into which Python turns a StopIteration that leaves a function.
ITERATOR_ENDED = re.compile(r"(coroutine|(async )?generator|function) raised Stop(Async)?Iteration")
ENDING_CALL = re.compile(r"(?<![\w.])(a?next)\(")


def iterator_end(error):
    """The StopIteration that caused a RuntimeError, because it has the position; else the error itself."""
    while (
        isinstance(error, RuntimeError)
        and isinstance(error.__cause__, (StopIteration, StopAsyncIteration))
        and ITERATOR_ENDED.fullmatch(str(error))
    ):
        error = error.__cause__
    return error


# A method of a result that a program took for the field of that name.
TAKEN_FOR_FIELD = re.compile(r"\.(clear|copy|get|items|keys|pop|popitem|setdefault|update|values)\b(?!\s*\()")


def describe_fault(error, program):
    fault = {"name": "Error", "message": ""}
    try:
        reported = error
        while isinstance(reported, BaseExceptionGroup):  # One of the group is reported, preferably a ToolError.
            reported = next((one for one in reported.exceptions if isinstance(one, ToolError)), reported.exceptions[0])
        reported = iterator_end(reported)
        refused = isinstance(reported, ValueRefused)
        fault["name"] = "TypeError" if refused else shorten(type(reported).__name__, 128)
        message = str(reported)
        if isinstance(reported, TypeError) and message.startswith("the JSON object must be str"):
            message += ". Results of tools are values already: use them as they are"
        message = message or next((words for kind, words in SILENT_ERRORS.items() if isinstance(reported, kind)), "")
        others = count_leaves(error) - 1
        more = f" (and {others} more {'error' if others == 1 else 'errors'} at the same time)" if others > 0 else ""
        fault["message"] = ends_of(ADDRESS.sub("", " ".join([message + more, *words_added_to(reported)])), 8192)
        code, tool = getattr(reported, "code", None), getattr(reported, "tool", None)
        # Only the guest itself may report TOO_LARGE, because that ends a program as stopped, not as failed.
        if isinstance(code, str) and (code != TOO_LARGE or refused) and not isinstance(reported, SystemExit):
            fault["code"] = shorten(code, 64)
        if isinstance(tool, str):
            fault["tool"] = shorten(tool, 256)
        if program is not None:
            fault |= program.position(reported) or program.position(error)
        if isinstance(reported, (StopIteration, StopAsyncIteration)) and "line" in fault:
            called = ENDING_CALL.search(program.lines[fault["line"] - 1])
            if called:
                fault["message"] = f"{called[1]}() found nothing: give it a default, {called[1]}(..., None){more}"
        if isinstance(reported, TypeError) and "'builtin_function_or_method'" in message and "line" in fault:
            taken = TAKEN_FOR_FIELD.search(program.lines[fault["line"] - 1])
            if taken:
                fault["message"] += f'. A dict has a method {taken[1]}: write ["{taken[1]}"] for the field of that name'
    except Exception:
        fault["message"] = fault["message"] or "The program raised an error that cannot be read."
    return fault


def words_added_to(error):
    """An error's notes and causes. Those that cannot be read are left out, so that its own message stays."""
    try:
        notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
        return [*notes, *(f"(caused by {type(cause).__name__}: {cause})" for cause in causes_of(error))]
    except Exception:
        return []


def causes_of(error):
    """What a program says an error was caused by, with `raise ... from`. An end of an iterator is no cause of its own."""
    for _ in range(4):
        error = getattr(error, "__cause__", None)
        if error is None:
            return
        yield error


def count_leaves(error):
    return sum(map(count_leaves, error.exceptions)) if isinstance(error, BaseExceptionGroup) else 1


# ---- a clock and random numbers that replay --------------------------------------------------------------------------

chance = random.Random(0)
chance_bytes = chance.randbytes


def seed_chance(seed):
    chance.seed(int(seed, 16))
    uuid._node = int.from_bytes(chance_bytes(6), "big") | (1 << 40)
    random.seed(chance_bytes(32))


def set_clock(guest):
    """Makes every clock give the time of the last event."""
    real_localtime, real_gmtime, real_strftime, real_sleep = time.localtime, time.gmtime, time.strftime, time.sleep
    real_asctime, real_clock = time.asctime, time.clock_gettime_ns
    wall_clocks = {time.CLOCK_REALTIME, getattr(time, "CLOCK_TAI", time.CLOCK_REALTIME)}

    def now():
        return guest.now / 1000

    def nanoseconds():
        return (guest.now - guest.started_at) * 1_000_000

    def clock_gettime_ns(clock):
        real_clock(clock)  # Raises for an invalid clock.
        return guest.now * 1_000_000 if clock in wall_clocks else nanoseconds()

    def sleep(seconds):
        if sys._getframe(1).f_globals.get("__name__") == "__main__":
            raise RuntimeError(
                "time.sleep() in a function that is not async would block every open call: "
                "make the function async, or write `await asyncio.sleep(seconds)` where it is called."
            )
        real_sleep(seconds)

    time.time = now
    time.time_ns = lambda: guest.now * 1_000_000
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, guest.elapsed)
        setattr(time, f"{name}_ns", nanoseconds)
    time.clock_gettime = lambda clock: clock_gettime_ns(clock) / 1e9
    time.clock_gettime_ns = clock_gettime_ns
    time.sleep = sleep
    time.localtime = lambda seconds=None: real_localtime(now() if seconds is None else seconds)
    time.gmtime = lambda seconds=None: real_gmtime(now() if seconds is None else seconds)
    time.asctime = lambda moment=None: real_asctime(time.localtime() if moment is None else moment)
    time.ctime = lambda seconds=None: real_asctime(time.localtime(seconds))
    time.strftime = lambda form, moment=None: real_strftime(form, time.localtime() if moment is None else moment)

    # Two methods are replaced and the class is kept, because other modules hold references to it.
    (methods,) = gc.get_referents(datetime.datetime.__dict__)
    utc = datetime.timezone.utc
    methods["now"] = classmethod(lambda cls, tz=None: cls.fromtimestamp(now(), tz))
    methods["utcnow"] = classmethod(lambda cls: cls.fromtimestamp(now(), utc).replace(tzinfo=None))
    if datetime.datetime.now(utc).timestamp() != now() or datetime.date.today().year != 1970:
        raise SystemExit("The Python guest cannot set the clock of this interpreter.")


def set_records():
    """Removes thread and process ids from records of `logging`, because they differ in each run."""
    fill = logging.LogRecord.__init__

    def init(self, *args, **options):
        fill(self, *args, **options)
        self.thread, self.process = 0, 1

    logging.LogRecord.__init__ = init


def set_chance():
    """Makes every source of random numbers draw from the seed."""
    real_seed = random.Random.seed

    def seed(self, a=None, version=2):
        real_seed(self, chance_bytes(32) if a is None else a, version)

    random.Random.seed = seed
    random.seed = random._inst.seed
    os.urandom = random._urandom = chance_bytes
    os.getrandom = lambda size, flags=0: chance_bytes(size)
    # Without the system's library, uuid1 is made of the clock, the node and random numbers, all of which replay.
    uuid._generate_time_safe = uuid._UuidCreate = None


serials = {}


def serial_of(thing):
    """A serial number for an object, the same in each run. For an object without weak references, its hash by address."""
    key = id(thing)
    if key not in serials:
        try:
            serials[key] = (next_number(), weakref.ref(thing, lambda _: serials.pop(key, None)))
        except TypeError:
            return object.__hash__(thing)
    return serials[key][0]


def text_of(thing):
    return ADDRESS.sub("", object.__repr__(thing))


# Methods of `object` that depend on the address, and their replacements.
STABLE = {"__hash__": (object.__hash__, serial_of), "__repr__": (object.__repr__, text_of)}


def stable_method(cls, name):
    """A replacement in a class for a method of `object`. It comes after other bases of a derived class, as `object` would."""
    plain, stable = STABLE[name]

    def method(self):
        kind = type(self)
        if kind is cls:
            return stable(self)
        order = kind.__mro__
        if cls not in order:  # The method was copied into another class.
            found = getattr(kind, name)
            return stable(self) if found is method else found(self)
        owner = next(one for one in order[order.index(cls) + 1 :] if name in vars(one))
        found = vars(owner)[name]
        if found is plain:
            return stable(self)
        if found is None:
            raise TypeError(f"unhashable type: '{kind.__name__}'")
        return found.__get__(self, kind)()

    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    method.is_written = name in vars(cls)
    return method


def make_stable(cls, names=tuple(STABLE)):
    """Gives a class a hash and a text of its objects that do not depend on addresses."""
    # A protocol has no instances, and each method in it is one that other classes must have.
    if isinstance(cls, type) and not vars(cls).get("_is_protocol", False):
        for name in names:
            if getattr(cls, name) is STABLE[name][0]:
                type.__setattr__(cls, name, stable_method(cls, name))
    return cls


class WithReferences:
    """Makes a class with `__slots__` and adds `__weakref__`, because serial numbers need weak references."""

    def __init__(self, metaclass):
        self._metaclass = metaclass
        self._options = {} if metaclass is None else {"metaclass": metaclass}

    def __prepare__(self, name, bases, **options):
        self._metaclass, namespace, _ = types.prepare_class(name, bases, {**self._options, **options})
        return namespace

    def __call__(self, name, bases, namespace, **options):
        slots = namespace.get("__slots__")
        if slots is None or not is_numbered_by_place(bases, namespace):
            return self._metaclass(name, bases, namespace, **options)
        given = slots if isinstance(slots, (str, tuple, list, dict)) else tuple(slots)
        every = (given,) if isinstance(given, str) else tuple(given)
        # The slots may have been an iterator, which is used up now.
        namespace["__slots__"] = given if "__weakref__" in every else (*every, "__weakref__")
        cls = self._metaclass(name, bases, namespace, **options)
        if isinstance(cls, type) and "__slots__" in vars(cls):
            type.__setattr__(cls, "__slots__", given)
        return cls


def is_numbered_by_place(bases, namespace):
    return not {"__eq__", "__hash__"} & set(namespace) and all(
        isinstance(one, type)
        and one.__weakrefoffset__ == 0
        and one.__itemsize__ == 0
        and (one.__hash__ is object.__hash__ or hasattr(one.__hash__, "is_written"))
        for one in bases
    )


def give_stable_objects(names):
    """Gives sets of objects of the program's own classes the same order in each run."""
    build_class, new_class, process_class = builtins.__build_class__, types.new_class, dataclasses._process_class

    def build(function, name, *bases, metaclass=None, **options):
        own = isinstance(function, types.FunctionType) and function.__globals__ is names
        if own and "__slots__" in function.__code__.co_names:
            return make_stable(build_class(function, name, *bases, metaclass=WithReferences(metaclass), **options))
        if metaclass is not None:
            options["metaclass"] = metaclass
        cls = build_class(function, name, *bases, **options)
        return make_stable(cls) if own else cls

    def make(metaclass, name, bases, namespace, **options):
        if metaclass is not type or not isinstance(bases, tuple) or not isinstance(namespace, dict):
            return metaclass(name, bases, namespace, **options)
        return make_stable(WithReferences(type)(name, bases, dict(namespace), **options))

    def process(cls, *args, **options):
        """`dataclass` adds only methods that a class lacks, so the guest's are removed before."""
        for method in STABLE:
            if getattr(vars(cls).get(method), "is_written", True) is False:
                type.__delattr__(cls, method)
        return make_stable(process_class(cls, *args, **options))

    builtins.__build_class__ = build
    setattr(builtins, MAKE_CLASS, make)
    types.new_class = lambda *args, **options: make_stable(new_class(*args, **options))
    dataclasses._process_class = process


def order_asyncio():
    """Fixes the order of what asyncio keeps in sets, and explains which of its functions a program cannot use."""
    as_completed = asyncio.as_completed

    def in_given_order(fs, *, timeout=None):
        return as_completed([asyncio.ensure_future(one) for one in fs], timeout=timeout)

    for cls in [one for one in vars(asyncio).values() if isinstance(one, type) and one.__module__.startswith("asyncio.")]:
        make_stable(cls, ["__hash__"])
    make_stable(ToolError)
    asyncio.as_completed = asyncio.tasks.as_completed = in_given_order
    asyncio.Future = asyncio.futures.Future = Future
    asyncio.tasks._GatheringFuture.__hash__ = hash_of_gathering
    asyncio.run = asyncio.runners.run = already_running
    asyncio.Runner = asyncio.runners.Runner = Runner
    # A second loop would open sockets, and this one runs already.
    asyncio.new_event_loop = asyncio.events.new_event_loop = asyncio.get_running_loop


# ---- what does not replay ----------------------------------------------------------------------------------------------

UNREPLAYABLE_MODULES = {
    "socket": "network",
    "urllib": "network",
    "http": "network",
    "ftplib": "network",
    "imaplib": "network",
    "poplib": "network",
    "smtplib": "network",
    "subprocess": "processes",
    "pty": "processes",
    "ctypes": "native code",
    "_thread": "threads",
    "shutil": "files",
    "tempfile": "files",
    "glob": "files",
    "pathlib": "files",
    "mmap": "files",
    "os": "files",
}
PROCESS_EVENTS = {"os.kill", "os.killpg", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"}
HARMLESS_EVENTS = {"os.putenv", "os.unsetenv"}
PATH_EVENTS = {"open", "os.listdir", "os.scandir", "sqlite3.connect"}


def watch(note):
    """Reports, once, the first use of something that a replay cannot reproduce."""
    own = [os.path.abspath(path) for path in (*sys.path, sys.base_prefix, sys.prefix, __file__) if path]
    own += ["/usr/share/zoneinfo"]
    noted = False

    def is_read_of_own(path, mode=None, flags=0):
        if isinstance(path, int):
            return True
        if isinstance(mode, str) and mode.strip("rbtU") or isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return False
        path = os.path.abspath(os.fsdecode(path)) if path is not None else os.getcwd()
        return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in own)

    def report(cause):
        nonlocal noted
        if not noted:
            noted = True
            note(cause)

    def hook(event, arguments):
        if noted:
            return
        if event in PATH_EVENTS:
            if event == "sqlite3.connect":
                harmless = arguments[0] in (":memory:", b":memory:")
            else:
                harmless = is_read_of_own(*arguments)
            if not harmless:
                report("files")
        elif event in PROCESS_EVENTS:
            report("processes")
        elif event not in HARMLESS_EVENTS:
            cause = UNREPLAYABLE_MODULES.get(event.partition(".")[0])
            if cause is not None:
                report(cause)

    sys.addaudithook(hook)

    # Not every version of Python has an audit event for new threads.
    starts = ["start_new_thread", "start_new", "start_joinable_thread"]
    starts = [(_thread, name) for name in starts] + [(threading, f"_{name}") for name in starts]
    for module, name in starts:
        start = getattr(module, name, None)
        if start is None:
            continue

        def start_noted(*args, _start=start, **options):
            report("threads")
            return _start(*args, **options)

        setattr(module, name, start_noted)

    # A signal handler interrupts the program at any point, as a thread does.
    def noting(function, is_harmless):
        @functools.wraps(function)
        def noted_first(*args, **options):
            if not is_harmless(*args, **options):
                report("threads")
            return function(*args, **options)

        return noted_first

    for name in ("setitimer", "alarm"):
        setattr(signal, name, noting(getattr(signal, name), lambda *args, **options: False))
    signal.signal = noting(signal.signal, lambda *args, **options: not any(map(callable, (*args[1:], *options.values()))))


# ---- the start ---------------------------------------------------------------------------------------------------------


def show_warning(message, category, filename, lineno, file=None, line=None):
    place = f"line {lineno}: " if filename == PROGRAM_FILE else ""
    sys.stderr.write(f"{place}{category.__name__}: {message}\n")


def descriptor(option, default):
    return int(sys.argv[sys.argv.index(option) + 1]) if option in sys.argv else default


def main():
    os.environ["TZ"] = "UTC"
    time.tzset()
    bridge = Bridge(descriptor("--in", 0), descriptor("--out", 1))
    sys.stdin = sys.__stdin__ = open(os.devnull)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != here]
    guest = Guest(bridge)
    set_clock(guest)
    set_chance()
    set_records()
    order_asyncio()
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.showwarning = show_warning
    asyncio._set_running_loop(guest.loop)
    kept_generators = []

    def note_collection(phase, _):
        guest.collects = phase == "start"

    def close_generator(generator):
        if guest.collects:
            kept_generators.append(generator)
        else:
            guest.loop.call_soon(guest.loop.create_task, generator.aclose())

    gc.callbacks.append(note_collection)
    sys.set_asyncgen_hooks(finalizer=close_generator)
    # The collector need not look at the guest's own objects again.
    gc.collect()
    gc.freeze()
    guest.greet()
    guest.run()


if __name__ == "__main__":
    main()
