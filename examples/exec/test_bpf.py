import ctypes
import errno
import platform
import struct

import pytest

BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
syscall = ctypes.CDLL(None, use_errno=True).syscall


def bpf(command, attr):
    """bpf(2) without a library."""
    fd = syscall(BPF, command, attr, len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return fd


@pytest.fixture
def counter():
    """A hash map of two counters."""
    return bpf(0, struct.pack("5I", 1, 8, 8, 2, 0))


def add(counter, key, value):
    key, value = (ctypes.create_string_buffer(struct.pack("Q", n), 8) for n in (key, value))
    bpf(2, struct.pack("I4xQQQ", counter, ctypes.addressof(key), ctypes.addressof(value), 0))


def test_a_full_map_takes_no_more(counter):
    add(counter, 1, 10)
    add(counter, 2, 20)
    with pytest.raises(OSError) as refused:
        add(counter, 3, 30)
    assert refused.value.errno == errno.E2BIG
