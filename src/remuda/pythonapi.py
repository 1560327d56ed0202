"""Python's own objects, read by kernels through the interface that Python has for C.

Only kernels that are `holding` the GIL may call these: nobody then changes what they read. None of
the calls, as they are made here, runs code of anybody's. References are borrowed unless it says
otherwise, and end with the kernel.
"""

from __future__ import annotations

import ctypes
import sysconfig
from typing import Any

from numba import types

_object = _address = types.intp
TYPE_AT = 8  # bytes from the start of an object to its type


def _of_python(name: str, gives: Any, *takes: Any) -> Any:
    return types.ExternalFunction(name, gives(*takes))


dict_size = _of_python("PyDict_Size", types.intp, _object)
# the dict, and where its place, the key and the value are written; 0 at its end
dict_next = _of_python("PyDict_Next", types.int32, _object, _address, _address, _address)
list_size = _of_python("PyList_Size", types.intp, _object)
list_item = _of_python("PyList_GetItem", _object, _object, types.intp)
hash_of = _of_python("PyObject_Hash", types.intp, _object)  # of texts and numbers alone
# where the UTF-8 of a text lies, and where its size is written; 0 where it is no text
utf8_of = _of_python("PyUnicode_AsUTF8AndSize", _address, _object, _address)
int_of = _of_python("PyLong_AsLongLongAndOverflow", types.int64, _object, _address)
float_of = _of_python("PyFloat_AsDouble", types.float64, _object)
# the name of a method, where the object is written, 1, and 0; a new object, to be let go of
called = _of_python("PyObject_VectorcallMethod", _object, _object, _address, types.uintp, _object)
let_go = _of_python("Py_DecRef", types.void, _object)
clear_error = _of_python("PyErr_Clear", types.void)


def _is_known() -> bool:
    """Whether objects are as kernels read them: a type in its place, and one thread at a time."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    some: tuple[Any, ...] = "", 0, 0.5, True, None, [], {}
    return all(
        ctypes.c_ssize_t.from_address(id(one) + TYPE_AT).value == id(type(one)) for one in some
    )


READABLE = _is_known()
