# SPDX-License-Identifier: Apache-2.0
"""Parts of kernels by themselves: arrays that do not fit, text of operations, checks of inputs, plain Python."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest
from jit_examples import square

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import Traced, atan2, cos, select, sin, sqrt, trace
from ada_dynamics.expr.function import COLUMN, SHARED, Columns
from ada_dynamics.jit import Kernel, Signature, emit_batch, emit_columns, keeping
from ada_dynamics.jit import tape as tape_module
from ada_dynamics.jit.emit import Emitter, NotFinite, either, window_starts
from ada_dynamics.jit.emit_kernel import GUARD_FAILED, NOT_FINITE
from ada_dynamics.jit.fallback import PythonBackend
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.march_text import Value
from ada_dynamics.jit.tape import FORMATS, NARROW_MULTIPLY_ADD, Tape, make_tape
from ada_dynamics.jit.tape_program import ARCTANGENT, MULTIPLY_ADD, RECIPROCAL, SELECTION, SINCOS, SQUARE_ROOT
from ada_dynamics.jit.target import VARIANTS
from ada_dynamics.jit.telling import untold
from ada_dynamics.jit.thread_batch import Pieces
from ada_dynamics.jit.thread_kernel import ThreadKernel
from ada_dynamics.jit.threads import HostThreads

Array = Any


# --- signatures -------------------------------------------------------------------------------------------------------
SIGNATURE = Signature("k", (("q", 2), ("v", 3)), (("a", (2, 2)), ("b", ())))


def test_outputs_have_as_many_elements_as_their_shapes_and_inputs_their_sizes() -> None:
    assert SIGNATURE.output_sizes == (4, 1) and SIGNATURE.input_shapes == ((2,), (3,))
    assert Signature.of(square()).inputs == tuple(square().inputs.items())
    Signature.of(square()).expect(square())
    with pytest.raises(CompileError, match="kernel k was declared as"):
        SIGNATURE.expect(square())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.zeros((2, 1)), r"k: q has shape \(2, 1\); it must be \(2\)"),
        (np.zeros(()), r"q has shape \(\); it must be \(2\)"),
        (np.zeros(3), r"q has shape \(3,\)"),
        (np.zeros(2, dtype=np.float32), "q has dtype float32"),
        (np.zeros(2, dtype=">f8"), "q has dtype >f8"),
        ([0.0, 0.0], r"q must be a float64 array of shape \(2\), not list"),
        (np.zeros(4)[::2], r"q must be contiguous; pass numpy.ascontiguousarray\(q\)"),
    ],
)
def test_arrays_of_a_state_that_do_not_fit_are_told(wrong: Any, words: str) -> None:
    good = np.zeros(2), np.zeros(3)
    assert SIGNATURE.check_single(good) is good
    with pytest.raises(InputError, match=words):
        SIGNATURE.check_single((wrong, good[1]))
    with pytest.raises(InputError, match=r"k takes 2 arrays \(q\[2\], v\[3\]\), not 1"):
        SIGNATURE.check_single(good[:1])


@pytest.mark.parametrize(
    ("q", "v", "words"),
    [
        (np.zeros(2), np.zeros((4, 3)), r"q has shape \(2,\); it must be \(N, 2\)"),
        (np.zeros((4, 2, 1)), np.zeros((4, 3)), r"q has shape \(4, 2, 1\); it must be \(N, 2\)"),
        (np.zeros((4, 2)), np.zeros((5, 3)), r"v has shape \(5, 3\); it must be \(4, 3\)"),
        (np.zeros((4, 2)), np.zeros((4, 2)), r"v has shape \(4, 2\); it must be \(4, 3\)"),
        (np.zeros((4, 2)), np.zeros(3), r"v has shape \(3,\)"),
        ("q", np.zeros((4, 3)), r"q must be a float64 array of shape \(N, 2\), not str"),
        (np.zeros((4, 2), dtype=int), np.zeros((4, 3)), "q has dtype int64"),
    ],
)
def test_arrays_of_a_batch_that_do_not_fit_are_told(q: Any, v: Any, words: str) -> None:
    good = np.zeros((4, 2)), np.asfortranarray(np.zeros((4, 3)))
    assert SIGNATURE.check_batch(good) == (good, 4)
    with pytest.raises(InputError, match=words):
        SIGNATURE.check_batch((q, v))
    with pytest.raises(InputError, match="not 3"):
        SIGNATURE.check_batch((*good, good[0]))


def test_outputs_that_are_given_have_the_shape_of_states_and_can_be_written() -> None:
    a, b = np.zeros((5, 2, 2)), np.zeros(5)
    found = SIGNATURE.check_out([a, b], (5,))
    assert found[0] is a and found[1] is b
    one = Signature("k", (), (("a", (2,)),))
    for given in (a[0, 0], (a[0, 0],)):
        assert one.check_out(given, ())[0] is a[0, 0] or np.shares_memory(one.check_out(given, ())[0], a)
    with pytest.raises(InputError, match="out must hold 2 arrays, not 1"):
        SIGNATURE.check_out([a], (5,))
    with pytest.raises(InputError, match=r"out \(b\) has shape \(5,\); it must be \(4\)"):
        SIGNATURE.check_out([a[:4], b], (4,))
    b.flags.writeable = False
    with pytest.raises(InputError, match=r"out \(b\) is read-only"):
        SIGNATURE.check_out([a, b], (5,))


def test_a_kernel_says_what_it_is() -> None:
    kernel = Kernel(SIGNATURE, square, "key of it")
    assert (kernel.key, repr(kernel)) == ("key of it", "<Kernel k: q[2], v[3] -> a[2, 2], b[]>")


# --- text -------------------------------------------------------------------------------------------------------------
def written(operate: Any) -> tuple[str, Value]:
    body = Body()
    wide = Lanes(4)
    numbers = Value(body, "double", "%x"), Value(body, "i64", "%i"), Value(body, wide.real, "%w", wide)
    found = operate(*numbers)
    return "; ".join(line.strip() for line in body.lines), found


@pytest.mark.parametrize(
    ("operate", "text"),
    [
        (lambda x, i, w: x + x, "%t1 = fadd double %x, %x"),
        (lambda x, i, w: x - 1.0, "%t1 = fsub double %x, 0x3FF0000000000000"),
        (lambda x, i, w: x * 2.0, "%t1 = fmul double %x, 0x4000000000000000"),
        (lambda x, i, w: x / 2.0, "%t1 = fdiv double %x, 0x4000000000000000"),
        (lambda x, i, w: 2.0 / x, "%t1 = fdiv double 0x4000000000000000, %x"),
        (lambda x, i, w: 1.0 + x, "%t1 = fadd double 0x3FF0000000000000, %x"),
        (lambda x, i, w: i + 3, "%t1 = add i64 %i, 3"),
        (lambda x, i, w: i - i, "%t1 = sub i64 %i, %i"),
        (lambda x, i, w: i * 3, "%t1 = mul i64 %i, 3"),
        (lambda x, i, w: i // 3, "%t1 = sdiv i64 %i, 3"),
        (lambda x, i, w: i % 3, "%t1 = srem i64 %i, 3"),
        (lambda x, i, w: i < 3, "%t1 = icmp slt i64 %i, 3"),
        (lambda x, i, w: i == 3, "%t1 = icmp eq i64 %i, 3"),
        (lambda x, i, w: i >= i, "%t1 = icmp sge i64 %i, %i"),
        (lambda x, i, w: x <= x, "%t1 = fcmp ole double %x, %x"),
        (lambda x, i, w: x > x, "%t1 = fcmp ogt double %x, %x"),
        (lambda x, i, w: x == x, "%t1 = fcmp oeq double %x, %x"),
        (lambda x, i, w: abs(x), "%t1 = call double @llvm.fabs.f64(double %x)"),
        (lambda x, i, w: abs(w), "%t1 = call <4 x double> @llvm.fabs.v4f64(<4 x double> %w)"),
        (lambda x, i, w: w * w, "%t1 = fmul <4 x double> %w, %w"),
        (lambda x, i, w: w / 2.0, "%t1 = fdiv <4 x double> %w, splat (double 0x4000000000000000)"),
    ],
)
def test_operators_write_their_instruction(operate: Any, text: str) -> None:
    found, value = written(operate)
    assert found == text and str(value) == "%t1"
    kind = "i1" if "cmp" in text else re.findall(r"= (?:call )?(?:\w+ )?(<4 x double>|double|i64)", text)[0]
    assert value.kind == kind


def test_a_scalar_beside_a_vector_stands_in_each_lane_on_its_side_of_the_sign() -> None:
    for operate, turned in ((lambda x, i, w: w - x, False), (lambda x, i, w: x - w, True)):
        text, value = written(operate)
        assert text.endswith("fsub <4 x double> %t2, %w" if turned else "fsub <4 x double> %w, %t2")
        assert text.startswith("%t1 = insertelement <4 x double> poison, double %x, i64 0; %t2 = shufflevector")
        assert value.lanes == Lanes(4)


def test_inputs_that_no_result_tells_of_are_checked_in_each_lane() -> None:
    """A reciprocal hides infinities, a choice and an arctangent whatever there is; a product tells of both."""
    function = trace("f", {"q": 4, "v": 3}, lambda q, v: {"y": [q[0] * v[1], 1.0 / v[0], atan2(q[3], 1.0), sin(q[2])]})
    assert untold(function) == {"q": [1, 3], "v": [0, 2]}
    for name in ("avx2", "avx512", "sse2"):
        target = VARIANTS[name]
        text = emit_batch._input_check(function, target)
        lanes = Lanes(target.lanes)
        assert text.startswith("define internal i1 @") and "(ptr %in_q, ptr %in_v) noinline #0" in text
        assert text.count(f"load {lanes.real}, ptr ") == 4
        for key, positions in (("q", [1, 3]), ("v", [2])):
            found = [int(x) for x in re.findall(rf"getelementptr double, ptr %in_{key}, i64 (\d+)", text)]
            assert found == [target.lanes * i for i in positions]
        # the first is multiplied by zero, the others are added
        assert text.count("llvm.fma" if target.fma else "fadd") == 3
    told = trace("g", {"q": 2, "v": 1}, lambda q, v: {"y": [q[0] - v[0], sqrt(q[1])]})
    assert emit_batch._input_check(told, VARIANTS["avx2"]) == ""


@pytest.mark.parametrize("seed", range(30))
def test_a_number_that_is_not_finite_is_told_of_wherever_it_goes(seed: int) -> None:
    """Random functions with all that can hide a number; one state, rows and columns, the first and the last state."""
    rng = np.random.default_rng(seed)

    def body(x: Any) -> Any:
        values = list(x)
        for _ in range(12):
            a, b, c = (values[int(i)] for i in rng.integers(0, len(values), 3))
            kinds = (a * b, a + b, a - b, a * b + c, -a, 1.0 / (1.0 + b * b), select(a, b, c, a), cos(a))
            values.append(kinds[int(rng.integers(0, len(kinds)))])
        return {"y": values[-3:]}

    function = trace(f"f{seed}", {"x": 5}, body)
    kernel = Kernel(Signature.of(function), lambda: function, f"random, {seed}")
    x = rng.normal(size=(19, 5))
    assert kernel.batch_status(x)[1] == 0
    for value in (np.nan, np.inf, -np.inf):
        for i in range(5):
            for k in (0, 18):
                bad = x.copy()
                bad[k, i] = value
                assert kernel.single_status(bad[k])[1] & 1
                for order in "CF":
                    assert kernel.batch_status(np.asarray(bad, order=order))[1] & 1


@pytest.mark.parametrize("size", range(1, 20))
def test_windows_cover_all_numbers_and_no_more(size: int) -> None:
    for width in (1, 2, 4, 8):
        if width > size:
            continue
        starts = window_starts(size, width)
        assert sorted({start + i for start in starts for i in range(width)}) == list(range(size))
        assert len(starts) == -(-size // width)
    for target, widest in ((VARIANTS["sse2"], 2), (VARIANTS["avx2"], 4), (VARIANTS["avx512"], 8)):
        body = Body()
        NotFinite(body, target).watch_vector("%p", size)
        width = max(w for w in (1, 2, 4, 8) if w <= min(size, widest))
        loads = [line for line in body.lines if f"load {Lanes(width).real}, ptr" in line]
        assert len(loads) == len(window_starts(size, width))


def test_flags_are_joined_and_none_is_false() -> None:
    body = Body()
    assert either(body, []) == "false" and either(body, ["%a"]) == "%a" and not body.lines
    assert either(body, ["%a", "%b", "%c"]) == "%t2"
    assert [line.strip() for line in body.lines] == ["%t1 = or i1 %a, %b", "%t2 = or i1 %t1, %c"]


def test_a_number_is_needed_by_the_tasks_that_take_it_the_next_one_last() -> None:
    function = trace("f", {"x": 2}, lambda x: {"y": [x[0] * x[1] + x[0], x[1]]})
    tasks = [keeping.Task(keeping.Do.COMPUTE, node) for node in function.nodes()]
    tasks += [keeping.Task(keeping.Do.DELIVER, tasks[-1].node), keeping.Task(keeping.Do.DELIVER, tasks[0].node)]
    found = keeping._Keeper(tasks, 4, 3)
    for index, uses in found.uses.items():
        assert uses == [turn for turn in range(len(tasks) - 1, -1, -1) if index in tasks[turn].operands]
    assert found.free == {True: [2, 1, 0], False: []}


# --- plain Python -----------------------------------------------------------------------------------------------------
def test_plain_python_tells_what_compiled_kernels_tell() -> None:
    function = trace("f", {"x": 2}, lambda x: Traced({"r": sqrt(x[0]), "s": (x[1], 1.0 / x[1])}, (x[0] - 1.0, x[1])))
    signature = Signature.of(function)
    backend = PythonBackend(signature, lambda: function)

    def outputs(*leading: int) -> list[Array]:
        return [np.full((*leading, *shape), 7.0) for _, shape in signature.outputs]

    for x, status in (
        ([4.0, 2.0], 0),
        ([1.0, 2.0], 0),
        ([0.25, 2.0], GUARD_FAILED),
        ([4.0, -2.0], GUARD_FAILED),
        ([4.0, 0.0], NOT_FINITE),
        ([-1.0, 2.0], NOT_FINITE | GUARD_FAILED),
        ([np.inf, 2.0], NOT_FINITE),
    ):
        out = outputs()
        assert backend.single([np.array(x)], out) == status
        with np.errstate(all="ignore"):
            root, inverse = np.sqrt(x[0]), 1.0 / np.float64(x[1])
        np.testing.assert_array_equal(out[0], root)
        np.testing.assert_array_equal(out[1], [x[1], inverse])
    rows, out = np.array([[4.0, 2.0], [9.0, 4.0], [0.25, 5.0]]), outputs(3)
    assert backend.batch([rows], out, 3, False) == GUARD_FAILED
    np.testing.assert_array_equal(out[0], [2.0, 3.0, 0.5])
    np.testing.assert_array_equal(out[1], [[2.0, 0.5], [4.0, 0.25], [5.0, 0.2]])
    assert backend.batch([rows[:2]], outputs(2), 2, False) == 0
    again = outputs(3)
    assert backend.repeat([rows], again, 3, 2) == GUARD_FAILED
    for one, other in zip(again, out, strict=True):
        np.testing.assert_array_equal(one, other)
    assert backend.repeat([rows], outputs(3), 2, 1) == 0 and backend.repeat([rows], outputs(3), 3, 0) == 0


# --- tapes ------------------------------------------------------------------------------------------------------------
def test_the_file_of_a_tape_lies_on_lines_of_the_cache_with_its_constants_behind_the_inputs() -> None:
    tape = make_tape(trace("f", {"x": 3}, lambda x: {"y": [x[0] * 2.5 + x[1], x[2] / 7.5]}))
    assert {2.5, 1.0 / 7.5} <= set(tape.constants.tolist())
    kept = []
    for width in (1, 2, 4, 8):
        for _ in range(5):
            file = tape.file(width)
            kept.append((file, np.zeros(3)))  # so that the next one lies elsewhere
            assert file.ctypes.data % 64 == 0 and file.size == tape.slots * width and file.flags.c_contiguous
            constants = file[3 * width : (3 + len(tape.constants)) * width].reshape(-1, width)
            np.testing.assert_array_equal(constants, np.tile(tape.constants[:, None], width))
            assert not file[: 3 * width].any() and not file[(3 + len(tape.constants)) * width :].any()


def numbers_of(tape: Tape, x: list[float]) -> Array:
    """What a tape computes, read word by word."""
    memory = np.zeros(tape.slots)
    memory[: tape.inputs] = x
    memory[tape.inputs : tape.inputs + len(tape.constants)] = tape.constants
    operations = {
        MULTIPLY_ADD: lambda a, b, c: [a * b + c],
        NARROW_MULTIPLY_ADD: lambda a, b, c: [a * b + c],
        RECIPROCAL: lambda a: [1.0 / a],
        SQUARE_ROOT: lambda a: [np.sqrt(a)],
        SINCOS: lambda a: [np.sin(a), np.cos(a)],
        SELECTION: lambda a, b, c, d: [c if a < b else d],
        ARCTANGENT: lambda y, x: [np.arctan2(y, x)],
    }
    place = 0
    for kind, count in tape.runs[:-1]:
        form, results = FORMATS[kind], 2 if kind == SINCOS else 1
        for _ in range(count):
            words = [int(word) for word in tape.words[place : place + form.words]]
            place += form.words
            slots = [words[i // form.per_word] >> form.bits * (i % form.per_word) for i in range(form.slots)]
            slots = [slot & (1 << form.bits) - 1 for slot in slots]
            memory[slots[:results]] = operations[kind](*memory[slots[results:]])
    assert place == len(tape.words) and tape.runs[-1].tolist() == [0, 0]
    return memory[tape.ends]


@pytest.mark.parametrize("narrow", [True, False])
def test_a_tape_read_word_by_word_computes_its_function(narrow: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(tape_module, "NARROW_SLOTS", 10_000 if narrow else 0)

    def body(x: Any) -> Traced:
        a, b = atan2(x[0], x[1]), atan2(x[1], 2.0 + x[2] * x[2])
        c, s = cos(a * x[2]), sin(x[1] - b)
        d = select(x[0], x[2], sqrt(c * c + 1.0), s / (2.0 + x[0] * x[0]))
        return Traced({"y": [a, b + c, d * s - x[1], -x[0]], "z": atan2(d, a) * b}, (c, x[1] + 3.0))

    function = trace("f", {"x": 3}, body)
    tape, rng = make_tape(function), np.random.default_rng(1)
    assert (tape.inputs, tape.outputs, tape.guards) == (3, 5, 2)
    assert tape.instructions == sum(tape.runs[:, 1]) and (NARROW_MULTIPLY_ADD in tape.runs[:, 0]) == narrow
    for _ in range(5):
        x = rng.normal(size=3).tolist()
        found = body(x)
        expected = [*found.outputs["y"], found.outputs["z"], *found.guards]
        np.testing.assert_allclose(numbers_of(tape, x), np.array(expected, dtype=float), rtol=1e-12, atol=1e-14)


def test_ways_to_fast_memory_cost_a_fifth_of_those_to_slow_memory() -> None:
    (node,) = trace("f", {"x": 1}, lambda x: {"y": [x[0]]}).nodes()
    put, fetch = keeping.Do.PUT, keeping.Do.FETCH
    fast, slow = keeping.Place(True, 0), keeping.Place(False, 0)
    first = [keeping.Step(put, node, fast), keeping.Step(keeping.Do.COMPUTE, node), keeping.Step(fetch, node, fast)]
    plan = keeping.Plan([first, [keeping.Step(fetch, node, fast), keeping.Step(put, node, slow)]])
    assert (plan.accesses(True), plan.accesses(False), plan.cost) == (3, 1, 1.0 + 3 * 0.2)


def test_variables_are_loaded_once_and_anew_after_memory_may_have_changed() -> None:
    function = trace("f", {"x": 2}, lambda x: {"y": [x[0] * x[1]]})
    asked: list[tuple[str, int]] = []

    def load(name: str, position: int) -> str:
        asked.append((name, position))
        return f"%load{len(asked)}"

    emitter = Emitter(Body(), Lanes(4), VARIANTS["avx2"], load)
    nodes = function.nodes()
    for _ in range(2):
        emitter.emit(nodes)
    assert sorted(asked) == [("x", 0), ("x", 1)]
    emitter.forget_variables()
    emitter.emit(nodes)
    assert len(asked) == 4 and not any("asm" in line for line in emitter.body.lines)
    emitter.read_again()
    assert 'call void asm sideeffect "", "~{memory}"()' in emitter.body.lines[-1]
    emitter.emit(nodes)
    assert len(asked) == 6 and emitter.variables == [node.index for node in nodes if node.lanes == 1][:2]
    # the product is made once
    assert sum("fmul" in line for line in emitter.body.lines) == 1


def test_columns_may_have_one_number_each_and_constants_stand_beside_their_code() -> None:
    each = trace("each", {SHARED: 1, COLUMN: 1}, lambda shared, column: {"x": [shared[0] * column[0]]})

    def body(p: Any) -> Traced:
        rows = [((p[0], p[1], p[0] * p[1]),), ((2.0, 3.0, 5.0),)]
        columns = [Columns(name, each, (p[1],), row) for name, row in zip("XC", rows, strict=True)]
        return Traced({"y": [p[0]]}, columns=columns)

    function = trace("single", {"p": 2}, body, ("X", "y", "C"))
    for width in (1, 4):
        text, _, _ = emit_columns.columns_functions(function, VARIANTS["avx2"], Lanes(width))
        (numbers,) = re.findall(r"@constant_columns_0 = private unnamed_addr constant \[\d+ x double\] \[(.*)\]", text)
        found = [struct.unpack(">d", bytes.fromhex(x[2:]))[0] for x in re.findall(r"0x\w+", numbers)]
        assert found == [x for x in (2.0, 3.0, 5.0) for _ in range(width)]
    kernel, p = Kernel(Signature.of(function), lambda: function, "single columns"), np.array([0.5, 4.0])
    X, y, C = kernel.single(p)
    assert (X.tolist(), y.tolist(), C.tolist()) == ([[2.0, 16.0, 8.0]], [0.5], [[8.0, 12.0, 20.0]])
    for part, one in zip(kernel.batch(np.tile(p, (9, 1))), (X, y, C), strict=True):
        np.testing.assert_array_equal(part, np.array([one] * 9))
    threads = ThreadKernel(Signature.of(function), lambda: function, "single columns", HostThreads())
    found, refused = Pieces(HostThreads()).run(threads, [np.tile(p, (9, 1))])
    assert not len(refused)
    for part, one in zip(found, (X, y, C), strict=True):
        np.testing.assert_array_equal(part, np.array([one] * 9))
