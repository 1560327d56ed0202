"""Kernels in two parts: a body, which other kernels take in, and an entry, which Python calls.

Numba optimises and translates every function by itself, and then again within each that calls it.
Of five kernels here, four are called by kernels alone. So a body is only brought into shape; all
of the work is done where an entry has taken in the bodies that it needs. That is half the time of
compiling everything, and what runs is as fast.

A body takes numbers as what they are, not as constants: one for `f(x, 0)` and `f(x, i)`. Where
it is taken in, the constant is seen anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba.core import config, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags, _make_subtarget, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import (
    AnnotateTypes,
    DumpParforDiagnostics,
    InlineOverloads,
    NopythonRewrites,
)
from numba.core.types import Array, BaseTuple, unliteral
from numba.core.types.functions import BaseFunction
from numba.core.typing.templates import make_concrete_template
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    WithLifting,
)

# mypy: disable-error-code="no-untyped-call,misc,assignment,method-assign,attr-defined"


class _Body(JITCodeLibrary):
    """The code of a body: function by function in shape, nothing to run."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """As Numba does, but of functions that are only named there is nothing to optimise."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The code itself, not a copy: there is no other use of it."""
        self._ensure_finalized()
        if self._shared_module is None:
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"
            self._shared_module = self._final_module
        return self._shared_module


class _Inherited(Flags):
    """What Numba's own functions inherit of a kernel that uses them, and nothing else of it.

    They are the flags that those functions have themselves, so that each is compiled once for
    these, not once for each way in which kernels are compiled, and again for what Numba itself
    uses. Whether they are forced into a kernel that is so itself, too, matters: hot loops that
    were not took up to 1.1 of the time.
    """

    _known: dict[str, Any] | None = None

    def values(self) -> dict[str, Any]:
        if self._known is None:  # Numba compares flags whenever it looks up a function's types
            self._known = super().values()
        return self._known


@cache
def _inherited(counting: bool, forced: bool) -> _Inherited:
    flags = _Inherited()
    flags.enable_looplift = flags.enable_pyobject_looplift = flags.no_cpython_wrapper = True
    flags.nrt, flags.forceinline = counting, forced
    return flags


class _Own(Flags):
    """The flags of a kernel; what Numba copies is for others to inherit."""

    def copy(self) -> _Inherited:
        return _inherited(self.nrt, self.forceinline)


_look_up = BaseFunction.get_call_type
_known: dict[Any, tuple[Any, Any]] = {}  # signatures of calls, and what they stand for


def _recalled(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call: Numba tries dozens of templates for each, whatever it did before."""
    key = function, context, tuple(args), tuple(kws.items()), ConfigStack.top_or_none()
    if key not in _known:
        signature = _look_up(function, context, args, kws)
        if signature is None:
            return None
        _known[key] = signature, function._impl_keys[signature.args]
    signature, function._impl_keys[signature.args] = _known[key]
    return signature


@contextmanager
def _recalling() -> Iterator[None]:
    """While kernels are compiled; what others compile is looked up as it always is."""
    before = BaseFunction.get_call_type
    BaseFunction.get_call_type = _recalled
    try:
        yield
    finally:
        BaseFunction.get_call_type = before


_sizes: dict[str, int] = {}  # of LLVM's types in bytes: to know one, Numba makes a module


def _spared(context: Any) -> Any:
    """A context, for one kernel, that spares what Numba would do for each array and variable."""
    function_of, measured = context.get_function, context.get_abi_sizeof

    def get_function(function: Any, signature: Any, _firstcall: bool = True) -> Any:
        if function == "__array__":  # it would look for one in all modules, and find none
            raise NotImplementedError
        return function_of(function, signature, _firstcall)

    def get_abi_sizeof(kind: Any) -> int:
        name = str(kind)
        if name not in _sizes:
            _sizes[name] = measured(kind)
        return _sizes[name]

    context.get_function, context.get_abi_sizeof = get_function, get_abi_sizeof
    return context


@contextmanager
def interpreted() -> Iterator[None]:
    """Meanwhile, whatever is not compiled yet runs as Python: for little data, that is sooner.

    It is for one thread alone, and for kernels that do not take arrays by address.
    """
    Kernel.interpreted = True
    try:
        yield
    finally:
        Kernel.interpreted = False


@cache
def thawed_type(kind: Any) -> Any:
    """The type of the same arrays where none is frozen: one form of a kernel serves both.

    Half of all forms were made for arrays that were frozen here and not there. With
    NUMBA_BOUNDSCHECK=1, a kernel that writes to what is frozen is still refused.
    """
    if config.BOUNDSCHECK:
        return kind
    if isinstance(kind, Array):
        return kind.copy(readonly=False)
    if isinstance(kind, BaseTuple):
        inner = tuple(map(thawed_type, kind.types))
        return BaseTuple.from_types(inner, getattr(kind, "instance_class", None))
    return kind


_NEEDLESS = {
    AnnotateTypes, DumpParforDiagnostics, FindLiterallyCalls, InlineClosureLikes, InlineInlinables,
    InlineOverloads, LiteralPropagationSubPipelinePass, LiteralUnroll, MakeFunctionToJitFunction,
    NopythonRewrites, RewriteDynamicRaises, WithLifting,
}  # fmt: skip


class _ToBody(Compiler):
    """Numba's compiler, without the wrapper that Python calls.

    Kernels are bare loops: the passes for closures, comprehensions, expressions of whole arrays,
    `with`, `literally` and `isinstance` have nothing to do in them, and are left out.
    """

    def define_pipelines(self) -> list[Any]:
        (passes,) = super().define_pipelines()
        passes.passes = [one for one in passes.passes if one[0] not in _NEEDLESS]
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        state = self.state
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        state.flags = _Own(state.flags)
        state.targetctx = _spared(state.targetctx)
        state.library = _Body(state.targetctx.codegen(), func.__qualname__)
        with _recalling():
            return super().compile_extra(func)


class Kernel(CPUDispatcher):
    """What Numba calls a dispatcher: a loop, with the bodies and entries of its signatures.

    `load` and `save` are for those who keep them; here nothing is kept.
    """

    interpreted = False  # whether calls that would have to be compiled are left to Python
    targetctx: Any
    _compiler: Any
    _insert: Any
    _cache_hits: Any
    _cache_misses: Any

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class=_ToBody)
        self._entries: dict[
            Any, tuple[Any, Any]
        ] = {}  # and what they point to: Numba holds neither

    def load(self, part: str, signature: Any) -> Any:
        """What was kept of a part; None where nothing was."""
        return None

    def save(self, part: str, signature: Any, kept: bytes) -> None:
        """Keep a part."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How another kernel calls this one, whose body it takes in."""
        signature, folded = self._compiler.fold_argument_types(args, kws)
        types = tuple(map(unliteral, folded))
        name = self.py_func.__name__
        template = make_concrete_template(
            f"CallTemplate({name})", key=name, signatures=[self._body(types).signature]
        )
        return template, signature, types, {}

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        if Kernel.interpreted:
            return self.py_func
        return super()._compile_for_args(*args, **kws)

    def compile(self, sig: Any) -> Any:
        """What Python calls for these types."""
        with global_compiler_lock:
            given = tuple(normalize_signature(sig)[0])
            types = tuple(map(thawed_type, given))
            if types not in self._entries:  # another thread may have been here before
                entry, environments = self._loaded_entry(types) or self._entry(types)
                for one in environments:
                    self.targetctx.codegen().set_env(one.env_name, one)
                self._entries[types] = entry, environments
            self._insert([one._code for one in given], self._entries[types][0], False)
            return self._entries[types][0]

    def _body(self, types: Any) -> Any:
        with global_compiler_lock, self._compiling_counter:
            if types not in self.overloads:
                body = self._loaded_body(types) or self._compiled_body(types)
                self.targetctx.insert_user_function(body.entry_point, body.fndesc, [body.library])
                self.overloads[types] = body
            return self.overloads[types]

    def _compiled_body(self, types: Any) -> Any:
        with self._told(types):
            body = self._compiler.compile(types, None)
        code = body.library._get_module_for_linking().as_bitcode()
        body.fndesc.typemap = body.fndesc.calltypes = None  # as large as the loop, and of no use
        if not body.library.has_dynamic_globals:  # addresses of this process
            kept = body.library.name, code, body.fndesc, body.environment, body.signature
            self.save("body", types, dumps(kept))
        return body._replace(entry_point=object())  # Numba finds it by what is called

    def _loaded_body(self, types: Any) -> Any:
        kept = self.load("body", types)
        with suppress(Exception):  # nothing, or not in this form
            name, code, fndesc, environment, signature = kept
            library = _Body(self.targetctx.codegen(), name)
            library._final_module = library._shared_module = llvm.parse_bitcode(code)
            library._finalized = True
            return compile_result(
                target_context=self.targetctx, typing_context=self.typingctx, library=library,
                fndesc=fndesc, environment=environment, signature=signature, entry_point=object(),
            )  # fmt: skip
        return None

    def _entry(self, types: Any) -> Any:
        body = self._body(types)
        self._cache_misses[types] += 1
        flags = Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        context = _spared(_make_subtarget(self.targetctx, flags))
        with self._told(types):
            library = context.codegen().create_library(body.library.name)
            library.enable_object_caching()
            library.add_linking_library(body.library)
            with context.push_code_library(library):
                context.create_cpython_wrapper(
                    library, body.fndesc, body.environment, body.call_helper, flags.release_gil
                )
            entry = context.get_executable(library, body.fndesc, body.environment)
        environments = body._replace(library=library)._find_referenced_environments()
        if not library.has_dynamic_globals:
            code = library.serialize_using_object_code()
            self.save("entry", types, dumps((code, body.fndesc, body.environment, environments)))
        return entry, environments

    def _loaded_entry(self, types: Any) -> Any:
        kept = self.load("entry", types)
        with suppress(Exception):
            code, fndesc, environment, environments = kept
            library = self.targetctx.codegen().unserialize_library(code)
            entry = self.targetctx.get_executable(library, fndesc, environment)
            self._cache_hits[types] += 1
            return entry, environments
        return None

    def _told(self, types: Any) -> Any:
        details = {"dispatcher": self, "args": types, "return_type": None}
        return event.trigger_event("numba:compile", data=details)
