#include "array/array.h"

#include <gtest/gtest.h>

#include "array/elementwise.h"
#include "array/elementwise_kernel.h"
#include "array/reduction.h"
#include "array/views.h"
#include "base/error.h"

namespace treadle::array {
namespace {

Array sample(Dims shape, DType dtype = DType::Float32) { return empty(shape, dtype); }

Index slice(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
    return {Index::Kind::Slice, start, stop, step, true, true};
}
Index integer(std::int64_t at) { return {Index::Kind::Integer, at, 0, 1, true, true}; }

TEST(Views, indexing) {
    const Array array = sample({4, 5, 6});
    const Array view = index(array, {integer(-1), slice(4, 0, -2)});
    EXPECT_EQ(view.shape(), (Dims{2, 6}));
    EXPECT_EQ(view.strides(), (Dims{-48, 4}));
    EXPECT_EQ(view.data() - array.data(), 4 * (3 * 30 + 4 * 6));
    EXPECT_EQ(index(array, {{Index::Kind::Ellipsis}, {Index::Kind::NewAxis}}).shape(), (Dims{4, 5, 6, 1}));
    EXPECT_EQ(index(array, {slice(3, 3)}).size(), 0);
    EXPECT_EQ(index(array, {slice(-100, 100)}).shape()[0], 4);
    EXPECT_THROW(index(array, {integer(4)}), Error);
    EXPECT_THROW(index(array, {integer(0), integer(0), integer(0), integer(0)}), Error);
    EXPECT_THROW(index(array, {slice(0, 1, 0)}), Error);
}

TEST(Views, reshapeKeepsViewsWhereItCan) {
    const Array array = sample({4, 6});
    EXPECT_EQ(reshape_view(array, {2, -1})->shape(), (Dims{2, 12}));
    const Array turned = transpose(array, {});
    EXPECT_FALSE(reshape_view(turned, {24}));
    EXPECT_EQ(reshape_view(turned, {3, 2, 4})->strides(), (Dims{8, 4, 24}));
    EXPECT_THROW(reshape_view(array, {5, -1}), Error);
    EXPECT_THROW(reshape_view(array, {-1, -1}), Error);
}

TEST(Views, broadcasting) {
    const Array column = sample({3, 1});
    const Array row = sample({4});
    const Array* both[] = {&column, &row};
    EXPECT_EQ(broadcast_shapes(both, "f"), (Dims{3, 4}));
    EXPECT_EQ(broadcast_to(column, {2, 3, 4}).strides(), (Dims{0, 4, 0}));
    const Array wrong = sample({5});
    const Array* bad[] = {&column, &row, &wrong};
    EXPECT_THROW(broadcast_shapes(bad, "f"), Error);
}

TEST(Views, layoutsForKernels) {
    const Array array = sample({4, 6});
    EXPECT_EQ(array.layout(), Layout::Dense);
    EXPECT_EQ(index(array, {slice(0, 4), slice(0, 3)}).layout(), Layout::InnerDense);
    EXPECT_EQ(transpose(array, {}).layout(), Layout::Any);
    EXPECT_EQ(broadcast_to(sample({4, 1}), {4, 3}).layout(), Layout::InnerZero);
}

TEST(Operations, resultTypesFollowNep50) {
    const Array small = sample({2}, DType::Int8);
    const Array single = sample({2}, DType::Float32);
    const auto type = [](const char* name, std::initializer_list<Operand> operands) {
        return result_types(operation(name), std::span<const Operand>(operands.begin(), operands.size())).result;
    };
    EXPECT_EQ(type("add", {small, Operand(std::int64_t{5})}), DType::Int8);
    EXPECT_EQ(type("add", {small, Operand(2.5)}), DType::Float64);
    EXPECT_EQ(type("multiply", {single, Operand(2.5)}), DType::Float32);
    EXPECT_EQ(type("divide", {small, small}), DType::Float64);
    EXPECT_EQ(type("sin", {small}), DType::Float16);
    EXPECT_EQ(type("less", {small, single}), DType::Bool);
    EXPECT_THROW(type("add", {small, Operand(std::int64_t{300})}), Error);
    EXPECT_THROW(type("bitwise_and", {single, single}), Error);
    EXPECT_THROW(operation("nothing"), Error);
}

TEST(Operations, programsNameTheirOperands) {
    const DType types[] = {DType::Int8, DType::Float32};
    const std::string text = elementwise_program(operation("add"), {DType::Float32, DType::Float32}, types, 0, 2);
    EXPECT_EQ(text,
              "(fn add (ax ay out) (set i1 (call (builtin grid) 1)) (set row (bin + (bin * (call (builtin int64) "
              "(builtin blockIdx.z)) (call (builtin int64) (builtin gridDim.y))) (call (builtin int64) (builtin "
              "blockIdx.y)))) (set i0 row) (set x (call (builtin float32) (item ax (tuple i0 i1)))) "
              "(set y (item ay (tuple i0 i1))) (set (item out (tuple i0 "
              "i1)) (bin + x y)))");
}

TEST(Operations, emptyRefusesImpossibleShapes) {
    EXPECT_THROW(empty({-1}, DType::Int8), Error);
    EXPECT_THROW(empty({std::int64_t{1} << 40, std::int64_t{1} << 40}, DType::Float64), Error);
}

TEST(Reductions, refuseBadAxes) {
    const Array array = sample({2, 3});
    EXPECT_THROW(reduce(reduction("sum"), array, std::vector<std::int64_t>{2}, false, {}), Error);
    EXPECT_THROW(reduce(reduction("sum"), array, std::vector<std::int64_t>{0, -2}, false, {}), Error);
    EXPECT_THROW(reduce(reduction("min"), sample({0}), {}, false, {}), Error);
}

}  // namespace
}  // namespace treadle::array
