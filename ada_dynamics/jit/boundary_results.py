# SPDX-License-Identifier: Apache-2.0
"""LLVM text of an array for a result of one state, as a rule one of the last two.

These are kept, as Python keeps small objects that are free, for a new array takes longer than all the rest of a call.
One to which nobody else refers, not even weakly, becomes the next result, if it is still as it was made. Two, because
the last one is often in use: a = f(a).
"""

NPY_DOUBLE = 12
# NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_OWNDATA, NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE
NEW_FLAGS = 0x505

RESULT = """\
define ptr @result(ptr %context, i64 %first, i32 %rank, ptr %dims) {
entry:
  $load_spares
  $load_array_new
  $load_array_type
  $load_double_type
  %axes = zext i32 %rank to i64
  br label %next
next:
  %k = phi i64 [0, %entry], [%k_next, %no]
  %more = icmp slt i64 %k, 2
  br i1 %more, label %look, label %make
look:
  %place = add i64 %first, %k
  %spare = call ptr @PyList_GetItem(ptr %spares, i64 %place)
  %type_at = getelementptr i8, ptr %spare, i64 8
  %type = load ptr, ptr %type_at
  %exact = icmp eq ptr %type, %array_type
  br i1 %exact, label %array, label %no
array:
  %references = load i32, ptr %spare
  %alone = icmp eq i32 %references, 1
  %weak_at = getelementptr i8, ptr %spare, i64 $weak
  %weak = load ptr, ptr %weak_at
  %unwatched = icmp eq ptr %weak, null
  %free = and i1 %alone, %unwatched
  %ndim_at = getelementptr i8, ptr %spare, i64 $ndim
  %ndim = load i32, ptr %ndim_at
  %right_rank = icmp eq i32 %ndim, %rank
  %dtype_at = getelementptr i8, ptr %spare, i64 $dtype
  %dtype = load ptr, ptr %dtype_at
  %right_type = icmp eq ptr %dtype, %double_type
  %right = and i1 %right_rank, %right_type
  %flags_at = getelementptr i8, ptr %spare, i64 $flags
  %flags = load i32, ptr %flags_at
  %wanted = and i32 %flags, $new
  %as_made = icmp eq i32 %wanted, $new
  %usable = and i1 %free, %right
  %all = and i1 %usable, %as_made
  br i1 %all, label %measure, label %no
measure:
  %own_at = getelementptr i8, ptr %spare, i64 $dims
  %own = load ptr, ptr %own_at
  br label %axis
axis:
  %i = phi i64 [0, %measure], [%i_next, %compare]
  %rest = icmp slt i64 %i, %axes
  br i1 %rest, label %compare, label %take
compare:
  %size_at = getelementptr i64, ptr %own, i64 %i
  %size = load i64, ptr %size_at
  %given_at = getelementptr i64, ptr %dims, i64 %i
  %given = load i64, ptr %given_at
  %i_next = add i64 %i, 1
  %same = icmp eq i64 %size, %given
  br i1 %same, label %axis, label %no
take:
  call void @Py_IncRef(ptr %spare)
  ret ptr %spare
no:
  %k_next = add i64 %k, 1
  br label %next
make:
  %made = call ptr %array_new(ptr %array_type, i32 %rank, ptr %dims, i32 $npy_double,
    ptr null, ptr null, i32 0, i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %done, label %keep
keep:
  %second = add i64 %first, 1
  %last = call ptr @PyList_GetItem(ptr %spares, i64 %first)
  call void @Py_IncRef(ptr %last)
  call i32 @PyList_SetItem(ptr %spares, i64 %second, ptr %last)
  call void @Py_IncRef(ptr %made)
  call i32 @PyList_SetItem(ptr %spares, i64 %first, ptr %made)
  br label %done
done:
  ret ptr %made
}
"""
