#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array/elementwise.h"
#include "array/reduction.h"
#include "base/error.h"
#include "module.h"

namespace treadle::bindings {
namespace {

using array::Array;

// A row of the table of operations as a callable: f(x, y, ..., out=None).
struct Elementwise {
    const array::Operation* row;
};

Array call(const Elementwise& self, nb::args args, nb::handle out) {
    Operands operands;
    for (const nb::handle arg : args) operands.add(arg, self.row->name.data());
    const Array* target = out.is_none() ? nullptr : &nb::cast<const Array&>(out);
    return array::elementwise(*self.row, operands.span(), target);
}

Array call_two(const Elementwise& self, nb::handle x, nb::handle y) {
    Operands operands;
    operands.add(x, self.row->name.data());
    operands.add(y, self.row->name.data());
    return array::elementwise(*self.row, operands.span());
}

std::string result_type(const Elementwise& self, nb::args args) {
    Operands operands;
    for (const nb::handle arg : args) operands.add(arg, self.row->name.data());
    return std::string(name_of(array::result_types(*self.row, operands.span()).result));
}

std::string name_of_row(const Elementwise& self) { return std::string(self.row->name); }
int operands_of_row(const Elementwise& self) { return self.row->operands; }
std::string typing_of_row(const Elementwise& self) { return {self.row->typing}; }
std::string doc_of_row(const Elementwise& self) { return std::string(self.row->doc); }

nb::list all_operations() {
    nb::list rows;
    for (const array::Operation& row : array::operations()) rows.append(nb::cast(Elementwise{&row}));
    return rows;
}

nb::list all_reductions() {
    nb::list rows;
    for (const array::Reduction& row : array::reductions())
        rows.append(nb::make_tuple(std::string(row.name), std::string(1, row.typing), std::string(row.doc)));
    return rows;
}

Array reduce(const std::string& name, const Array& array, nb::handle axes, bool keep_dims, nb::handle dtype) {
    std::optional<DType> type;
    if (!dtype.is_none()) type = to_dtype(dtype);
    if (name == "mean") return array::mean(array, to_axes(axes), keep_dims, type);
    return array::reduce(array::reduction(name), array, to_axes(axes), keep_dims, type);
}

std::string promoted(nb::handle a, nb::handle b) { return std::string(name_of(promote(to_dtype(a), to_dtype(b)))); }

// Binary operators of Array: row and whether the operands are swapped (the r-forms). Unknown operands are left to the
// other side.
template <int kRow, bool kSwapped>
nb::object binary_operator(nb::handle self, nb::handle other) {
    Operands operands;
    const array::Operation& row = array::operations()[static_cast<std::size_t>(kRow)];
    operands.add(kSwapped ? other : self, row.name.data());
    operands.add(kSwapped ? self : other, row.name.data());
    return nb::cast(array::elementwise(row, operands.span()));
}

template <int kRow>
Array unary_operator(const Array& self) {
    const array::Operand operands[] = {self};
    return array::elementwise(array::operations()[static_cast<std::size_t>(kRow)], operands);
}

template <int kRow>
nb::object in_place(nb::handle self, nb::handle other) {
    Operands operands;
    const array::Operation& row = array::operations()[static_cast<std::size_t>(kRow)];
    operands.add(self, row.name.data());
    operands.add(other, row.name.data());
    array::elementwise(row, operands.span(), &nb::cast<const Array&>(self));
    return nb::borrow<nb::object>(self);
}

constexpr const char* kNames[] = {
#define TREADLE_OPERATION(name, operands, typing, body, doc) #name,
#include "array/operations.def"
#undef TREADLE_OPERATION
};

consteval int row_of(std::string_view name) {
    for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i) {
        if (kNames[i] == name) return i;
    }
    throw "no such operation";
}

template <int kRow>
void bind_binary(nb::handle type, const char* name) {
    const std::string forward = "__" + std::string(name) + "__";
    const std::string reverse = "__r" + std::string(name) + "__";
    const std::string inplace = "__i" + std::string(name) + "__";
    auto array_class = nb::borrow<nb::class_<Array>>(type);
    array_class.def(forward.c_str(), &binary_operator<kRow, false>, nb::is_operator());
    array_class.def(reverse.c_str(), &binary_operator<kRow, true>, nb::is_operator());
    array_class.def(inplace.c_str(), &in_place<kRow>, nb::is_operator());
}

template <int kRow>
void bind_comparison(nb::handle type, const char* name) {
    const std::string text = "__" + std::string(name) + "__";
    nb::borrow<nb::class_<Array>>(type).def(text.c_str(), &binary_operator<kRow, false>, nb::is_operator());
}

}  // namespace

void bind_operations(nb::module_& module) {
    nb::class_<Elementwise>(module, "Elementwise")
        .def("__call__", &call, nb::arg("operands"), nb::kw_only(), nb::arg("out").none() = nb::none())
        .def("_call_two", &call_two)
        .def("result_type", &result_type)
        .def_prop_ro("name", &name_of_row)
        .def_prop_ro("nin", &operands_of_row)
        .def_prop_ro("typing", &typing_of_row)
        .def_prop_ro("summary", &doc_of_row);
    module.def("operations", &all_operations);
    module.def("reductions", &all_reductions);
    module.def("promote", &promoted, nb::arg("a"), nb::arg("b"));
    module.def("reduce", &reduce, nb::arg("name"), nb::arg("array"), nb::arg("axes").none(), nb::arg("keep_dims"),
               nb::arg("dtype").none());
    const nb::handle type = nb::type<Array>();
    bind_binary<row_of("add")>(type, "add");
    bind_binary<row_of("subtract")>(type, "sub");
    bind_binary<row_of("multiply")>(type, "mul");
    bind_binary<row_of("divide")>(type, "truediv");
    bind_binary<row_of("floor_divide")>(type, "floordiv");
    bind_binary<row_of("remainder")>(type, "mod");
    bind_binary<row_of("power")>(type, "pow");
    bind_binary<row_of("bitwise_and")>(type, "and");
    bind_binary<row_of("bitwise_or")>(type, "or");
    bind_binary<row_of("bitwise_xor")>(type, "xor");
    bind_binary<row_of("left_shift")>(type, "lshift");
    bind_binary<row_of("right_shift")>(type, "rshift");
    bind_comparison<row_of("equal")>(type, "eq");
    bind_comparison<row_of("not_equal")>(type, "ne");
    bind_comparison<row_of("less")>(type, "lt");
    bind_comparison<row_of("less_equal")>(type, "le");
    bind_comparison<row_of("greater")>(type, "gt");
    bind_comparison<row_of("greater_equal")>(type, "ge");
    auto array_class = nb::borrow<nb::class_<Array>>(type);
    array_class.def("__neg__", &unary_operator<row_of("negative")>);
    array_class.def("__pos__", &unary_operator<row_of("positive")>);
    array_class.def("__abs__", &unary_operator<row_of("absolute")>);
    array_class.def("__invert__", &unary_operator<row_of("invert")>);
}

}  // namespace treadle::bindings
