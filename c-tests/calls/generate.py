"""usage: generate.py HEADER OUT: generates C code that calls every function of the header with
random arguments; see test_random_calls.c.

Each function of the header becomes `static holdall_status call_NAME(void)`, which draws its
arguments according to their types and names, calls the function, and checks the results. `calls[]`
lists these functions with their pointer parameters. A parameter that this script cannot draw is an
error: add it to ARGUMENTS or GROUPS.
"""

import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bindings/generate"))
from header import functions  # noqa: E402

# Pointers that may be NULL, by function ("*": any) and parameter; the header documents each.
OPTIONAL = {
    ("*", "err"),
    ("*", "options"),
    ("*", "ctx"),
    ("*", "fault"),
    ("*", "progress"),
    # defaults
    ("holdall_array_read", "start"),
    ("holdall_array_read", "count"),
    ("holdall_array_write", "start"),
    ("holdall_array_slice", "start"),
    ("holdall_array_slice", "count"),
    ("holdall_array_write", "count"),
    ("*", "step"),
    ("*", "strides"),
    # results that are not requested
    ("holdall_verify", "result"),
    ("holdall_repair", "result"),
    ("holdall_identify", "format"),
    ("holdall_identify", "kind"),
    ("holdall_store_identify", "format"),
    ("holdall_store_identify", "kind"),
    # all columns
    ("holdall_table_read_rows", "names"),
    ("holdall_table_read_points", "names"),
    ("holdall_table_columns_to_arrow", "names"),
    ("holdall_table_scan", "names"),
    ("holdall_table_index_build", "names"),
    ("holdall_table_points_to_arrow", "names"),
    # all rows
    ("holdall_table_scan", "predicate"),
    ("holdall_table_slice", "names"),
    # all records in order
    ("holdall_bag_copy", "indices"),
    ("holdall_bag_stream_open", "next"),
    # returns only the number of blocks
    ("holdall_schunk_block_offsets", "offsets"),
    # returns only the number of records
    ("holdall_bag_index_find", "records"),
    # removes it
    ("holdall_schunk_attr_set", "value"),
    ("holdall_array_attr_set", "value"),
    ("holdall_array_meta_file_write", "value"),
    ("holdall_table_meta_file_write", "value"),
    ("holdall_table_attr_set", "value"),
    ("holdall_table_column_attr_set", "value"),
}
# The result of a function that cannot fail for NULL, if it is not 0 or NULL.
NOTHING = {"holdall_bag_stream_number": "UINT64_MAX", "holdall_epoch_next": "HOLDALL_E_ARGUMENT"}

# A function with one of these parameters is called with dst == NULL to get the size.
ASKED = ["n", "checksum_size"]

# How a single argument is drawn, by type or function, and name ("*": any name).
NUMBER = "a_number()"
ARGUMENTS = {
    ("holdall_mode", "*"): "a_mode()",
    ("holdall_format", "*"): "a_format()",
    ("holdall_kind", "*"): "a_kind()",
    ("holdall_option", "*"): "an_option()",
    ("holdall_status", "*"): "(holdall_status)a_number()",
    ("int32_t", "kind"): "a_checksum()",
    ("int32_t", "constant"): "a_constant()",
    ("uint32_t", "*"): "(uint32_t)a_number()",
    ("uint32_t", "ndim"): "(uint32_t)a_count(17)",
    ("uint64_t", "*"): NUMBER,
    ("int64_t", "*"): "(int64_t)a_number()",
    ("int64_t", "value"): "a_constant()",
    ("size_t", "typesize"): "(size_t)a_number()",
    ("size_t", "count"): "(size_t)a_number()",
    ("size_t", "i"): "(size_t)a_number()",
    ("size_t", "block"): "(size_t)a_number()",
    ("const char *", "path"): "a_path()",
    ("const char *", "spec"): "a_path()",
    ("const char *", "node"): "a_node()",
    ("const char *", "name"): "a_name()",
    ("const char *", "column"): "a_name()",
    ("const char *", "dtype"): "a_dtype()",
    ("const char *", "predicate"): "a_predicate()",
    ("void *", "ctx"): "NULL",
    ("holdall_progress_fn", "progress"): "on_progress",
    ("holdall_fault_fn", "fault"): "on_fault",
    ("holdall_next_index_fn", "next"): "next_index_or_none()",
    ("holdall_allocate_fn", "allocate"): "on_allocate",
    ("holdall_write_fn", "write"): "on_write",
    ("const holdall_storage_functions *", "functions"): "a_storage()",
    ("const holdall_array_spec *", "spec"): "an_array()",
    ("const holdall_table_spec *", "spec"): "a_table()",
    ("struct ArrowArrayStream *", "stream"): "a_stream()",
    # of one function
    ("holdall_store_create", "format"): "a_store_format()",
    ("holdall_bag_index_find", "records"): "numbers(most)",
    ("holdall_bag_index_find_many", "records"): "numbers(count)",
    ("holdall_array_splits", "firsts"): "numbers(most)",
    ("holdall_array_splits", "counts"): "numbers(most)",
    ("holdall_array_splits", "bytes"): "numbers(most)",
    ("holdall_table_splits", "firsts"): "numbers(most)",
    ("holdall_table_splits", "counts"): "numbers(most)",
    ("holdall_table_splits", "bytes"): "numbers(most)",
    ("holdall_bag_splits", "firsts"): "numbers(most)",
    ("holdall_bag_splits", "counts"): "numbers(most)",
    ("holdall_bag_splits", "bytes"): "numbers(most)",
    # writes nothing outside the bag
    ("holdall_bag_read_range_to", "offsets"): "numbers(count < 1000 ? count + 1 : 1)",
    ("holdall_bag_read_indices_to", "offsets"): "numbers(n + 1)",
    # 0 values may be NULL
    ("holdall_table_read_nulls", "count"): "(size_t)a_number() | 1",
    ("holdall_table_read_nulls", "nulls"): "room(count < 1000 ? count : 1)",
    ("holdall_schunk_block_offsets", "offsets"): "numbers(99)",
    ("holdall_schunk_block_offsets", "capacity"): "a_count(99)",
    ("holdall_table_scan", "start"): "a_count(9)",
    ("holdall_table_scan", "count"): "a_count(9)",
    ("holdall_table_where", "rows"): "numbers(99)",
    ("holdall_table_where", "capacity"): "a_count(98) + 1",
    ("holdall_epoch_next", "epoch"): "picked(0, K_epoch)",
    ("holdall_array_copy", "spec"): "a_copy(array)",
    ("holdall_array_slice", "start"): "a_start(array)",
    ("holdall_array_slice", "count"): "some_counts(array)",
    ("holdall_array_slice", "step"): "some_steps(array)",
    ("holdall_part_finish", "token"): "a_token()",
    ("holdall_table_slice", "start"): "a_count(9)",
    ("holdall_table_slice", "count"): "a_count(9)",
    ("holdall_table_slice", "step"): "(int64_t)a_count(4)",
}
# Parameters that depend on each other: drawn by one function, which gets the handle and pointers to
# them.
GROUPS = [
    (["ndim", "start", "shape"], "a_box_or_rows"),
    (["tokens", "count"], "some_tokens"),
    (["start", "count", "step", "strides"], "a_box"),
    (["positions", "counts"], "a_choice"),
    (["coordinates", "n"], "a_list"),
    (["axis", "start", "count", "src_size"], "a_growth_at"),
    (["axis", "count", "src_size"], "a_growth"),
    (["shape"], "a_shape"),
    (["start", "count", "columns", "sizes"], "some_rows_at"),
    (["count", "columns", "sizes"], "some_rows"),
    (["start", "count", "step", "column_count", "names", "dsts", "dst_sizes"], "some_columns"),
    (["rows", "n", "column_count", "names", "dsts", "dst_sizes"], "some_points"),
    (["rows", "row_count"], "some_row_numbers"),
    (["column_count", "names"], "some_names"),
    (["bytes", "n"], "some_bytes"),
    (["json", "n"], "a_value"),
    (["value", "n"], "a_value"),
    (["column", "start", "count", "src_size"], "some_cells"),
    (["dtype", "src_size"], "a_column"),
    (["storages", "count"], "some_shards"),
    (["indices", "n"], "some_indices"),
    (["data", "offsets", "count"], "some_records"),
]
# Byte arrays, each followed by its length.
LENGTHS = ["n", "dst_size", "src_size", "size", "key_size", "most"]
# Functions whose result is passed back: number of the result's type.
RESULTS = {
    "uint64_t *",
    "size_t *",
    "int32_t *",
    "holdall_format *",
    "holdall_kind *",
    "const void **",
}


def declared(p):
    return p.type + ("" if p.type.endswith("*") else " ") + p.name


def may_be_null(function, p, parameters):
    if p.type == "holdall_options *":
        return False
    if (function, p.name) in OPTIONAL or ("*", p.name) in OPTIONAL:
        return True
    return p.name == "dst" and any(q.name in ASKED and q.pointer for q in parameters)


class Call:
    def __init__(self, result, name, parameters):
        self.result, self.name, self.parameters = result, name, parameters
        self.names = [p.name for p in parameters]
        self.lines, self.drawn = [], set()

    def draw(self, p, how):
        self.lines.append(f"{declared(p)} = {how};")
        self.drawn.add(p.name)

    def closes(self):
        return self.result == "void" and len(self.parameters) == 1

    def draw_all(self):
        for p in self.parameters:
            if p.handle() and p.name != "err":
                how = (
                    "taken"
                    if self.closes()
                    else "options_or_none" if p.type == "const holdall_options *" else "picked"
                )
                self.draw(p, f"{how}({self.index(p)}, K_{p.handle()})")
        handle = (
            self.parameters[0].name if self.parameters and self.parameters[0].handle() else "NULL"
        )
        for names, how in GROUPS:
            free = {
                p.name
                for p in self.parameters
                if p.name not in self.drawn and p.type not in RESULTS
            }
            if set(names) <= free:
                for n in names:
                    p = self.parameters[self.names.index(n)]
                    self.lines.append(f"{declared(p)} = 0;")
                    self.drawn.add(n)
                extra = (
                    ["dst_size" if "dst_size" in self.names else "src_size"]
                    if how in ("a_box", "a_choice", "a_list")
                    else []
                )
                for n in extra:
                    self.lines.append(f"size_t {n} = 0;")
                    self.drawn.add(n)
                self.lines.append(f"{how}({handle}, {', '.join('&' + n for n in names + extra)});")
        for p in self.parameters:
            if p.name in LENGTHS and p.type == "size_t" and p.name not in self.drawn:
                self.draw(p, "a_size()")
        for at, p in enumerate(self.parameters):
            if p.name not in self.drawn:
                self.draw_one(p, self.names[at + 1 :])

    def draw_one(self, p, following):
        length = next(
            (
                n
                for n in following
                if n in LENGTHS and self.parameters[self.names.index(n)].type == "size_t"
            ),
            None,
        )
        if (self.name, p.name) in ARGUMENTS:
            self.draw(p, ARGUMENTS[self.name, p.name])
        elif p.structure() and not p.type.startswith("const "):
            self.lines.append(
                f"{p.structure()} got_{p.name} = {{.struct_size = once_in(20) ? a_size() : sizeof "
                f"got_{p.name}}};"
            )
            self.draw(p, f"&got_{p.name}")
        elif p.type == "holdall_error *":
            self.draw(p, "an_error()")
        elif p.out():
            self.lines.append(f"holdall_{p.out()} *made = STALE;")
            self.draw(p, "&made")
        elif p.type == "struct ArrowArrayStream *" and p.name == "out":
            self.lines.append("struct ArrowArrayStream given = {0};")
            self.draw(p, "&given")
        elif p.type in RESULTS:
            self.lines.append(
                f"{p.type[:-1].strip()} {'*' if p.type.endswith('**') else ''}got_{p.name} = 0;".replace(
                    "* *", "**"
                ).replace(
                    "**got", "*got"
                )
            )
            self.draw(p, f"&got_{p.name}")
        elif p.type in ("void *", "char *") and length:
            self.draw(p, f"room({length})")
        elif p.type == "const void *" and length:
            self.draw(p, f"filled({length})")
        else:
            how = ARGUMENTS.get((p.type, p.name)) or ARGUMENTS.get((p.type, "*"))
            if how is None:
                sys.exit(
                    f"generate.py: {self.name}(): how is `{declared(p)}` drawn? See its ARGUMENTS "
                    "and GROUPS."
                )
            self.draw(p, how)

    def index(self, p):
        return self.parameters.index(p)

    def argument(self, p):
        return (
            f"NULLED({self.index(p)}) ? NULL : {p.name}" if p.pointer and not p.handle() else p.name
        )

    def text(self):
        self.draw_all()
        call = f"{self.name}({', '.join(self.argument(p) for p in self.parameters)})"
        out = [p for p in self.parameters if p.out()]
        if self.result == "void":
            self.lines += [f"{call};", "return HOLDALL_OK;"]
        elif self.result == "holdall_status":
            self.lines.append(f"holdall_status status = {call};")
            checked = (
                f"NULLED({self.names.index('err')}) ? NULL : err_"
                if "err" in self.names
                else "NULL"
            )
            self.lines.append(f"check_error(status, {checked});")
            for p in out:
                self.lines.append(
                    f"if (!NULLED({self.index(p)})) store_handle(K_{p.out()}, status, made);"
                )
            if any("given" in line for line in self.lines):
                self.lines.append("drained(&given);")
            if any(
                p.type == "struct ArrowArrayStream *" and p.name == "stream"
                for p in self.parameters
            ):
                self.lines.append("released(stream);")
            self.lines.append("return status;")
        elif re.fullmatch(r"holdall_\w+ \*", self.result):
            self.lines += [
                f"store_handle(K_{self.result[8:-2]}, HOLDALL_OK, {call});",
                "return HOLDALL_OK;",
            ]
        else:
            self.lines.append(
                f"return {call} == {NOTHING.get(self.name, '0')} ? HOLDALL_E_ARGUMENT : HOLDALL_OK;"
            )
        text = (
            "\n    ".join(self.lines)
            .replace("holdall_error *err =", "holdall_error *err_ =")
            .replace("NULL : err)", "NULL : err_)")
        )
        return f"static holdall_status call_{self.name}(void)\n{{\n    {text}\n}}\n"

    def pointers(self):
        """Returns for each parameter whether it is a pointer that must not, or may, be NULL."""
        kinds = []
        for p in self.parameters:
            kinds.append(
                "."
                if not p.pointer
                else (
                    "o"
                    if self.result == "void" or may_be_null(self.name, p, self.parameters)
                    else "n"
                )
            )
        return "".join(kinds)


def main(header, out):
    calls = [Call(*f) for f in functions(pathlib.Path(header))]
    handles = sorted({(c.parameters[0].handle(), c.name) for c in calls if c.closes()})
    text = [
        "/* Made by generate.py. */",
        "#ifndef CALLS",
        "enum { " + ", ".join(f"K_{h}" for h, _ in handles) + ", KINDS };",
        "",
    ]
    text += ["static void close_one(int kind, void *handle)\n{\n    switch (kind) {"]
    text += [f"    case K_{h}: {close}(handle); break;" for h, close in handles]
    text += ["    }\n}\n", "#else"]
    text += [c.text() for c in calls]
    text += [
        "static const struct {\n    const char *name;\n    holdall_status (*call)(void);\n    /* "
        "a letter for each parameter: a pointer that "
        "must not (n), or may (o), be NULL, or none */\n    const char *pointers;\n    bool "
        "status;\n} calls[] = {"
    ]
    text += [
        f'    {{"{c.name}", call_{c.name}, "{c.pointers()}", '
        f'{"true" if c.result == "holdall_status" else "false"}}},'
        for c in calls
    ]
    text += ["};", "enum { CALLS_N = sizeof calls / sizeof calls[0] };", "#endif"]
    with open(out, "w") as f:
        f.write("\n".join(text) + "\n")


main(*sys.argv[1:])
