#include <atomic>

#include <gtest/gtest.h>

#include "base/cpu_target.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/float_bits.h"
#include "base/hash.h"
#include "base/small_vector.h"
#include "base/thread_pool.h"

namespace treadle {
namespace {

TEST(DTypes, promoteAsNumPyDoes) {
    EXPECT_EQ(promote(DType::Int8, DType::UInt8), DType::Int16);
    EXPECT_EQ(promote(DType::Int64, DType::UInt64), DType::Float64);
    EXPECT_EQ(promote(DType::Int32, DType::Float32), DType::Float64);
    EXPECT_EQ(promote(DType::Int16, DType::Float32), DType::Float32);
    EXPECT_EQ(promote(DType::Int16, DType::Float16), DType::Float32);
    EXPECT_EQ(promote(DType::Bool, DType::UInt16), DType::UInt16);
    EXPECT_EQ(promote(DType::BFloat16, DType::Float16), DType::Float32);
    EXPECT_EQ(promote(DType::BFloat16, DType::Int8), DType::BFloat16);
    EXPECT_EQ(promote(DType::BFloat16, DType::Complex64), DType::Complex64);
}

TEST(DTypes, promotionIsSymmetric) {
    for (int a = 0; a < kDTypeCount; ++a) {
        for (int b = 0; b < kDTypeCount; ++b) {
            EXPECT_EQ(promote(static_cast<DType>(a), static_cast<DType>(b)),
                      promote(static_cast<DType>(b), static_cast<DType>(a)));
        }
    }
}

TEST(DTypes, floatsHaveBits) {
    EXPECT_EQ(float_bits(DType::BFloat16, 1.0), 0x3f80u);
    EXPECT_EQ(float_bits(DType::BFloat16, 1.00390625), 0x3f80u);  // halfway: to even
    EXPECT_EQ(float_bits(DType::BFloat16, 1.01171875), 0x3f82u);
    EXPECT_EQ(float_bits(DType::BFloat16, 3.4e38), 0x7f80u);
    EXPECT_EQ(float_bits(DType::BFloat16, -__builtin_nan("")), 0xffc0u);
    EXPECT_EQ(float_bits(DType::Float16, -2.0), 0xc000u);
}

TEST(DTypes, areFoundByName) {
    EXPECT_EQ(dtype_from_name("float32"), DType::Float32);
    EXPECT_EQ(dtype_from_name("complex256"), DType::Count);
}

TEST(Errors, checkNamesConditionAndPlace) {
    try {
        TREADLE_CHECK(1 > 2, "numbers");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Internal);
        EXPECT_NE(std::string(error.what()).find("1 > 2"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("base_test.cpp"), std::string::npos);
    }
}

TEST(Hash, has256BitsAndTellsTextsApart) {
    EXPECT_EQ(hash_hex("a").size(), 64U);
    EXPECT_EQ(hash_hex("a"), hash_hex("a"));
    EXPECT_NE(hash_hex("a"), hash_hex("b"));
}

TEST(SmallVector, keepsItemsWhenItGrowsAndMoves) {
    SmallVector<int, 2> items = {1, 2};
    items.push_back(3);
    items.insert(0, 7);
    items.erase(1);
    SmallVector<int, 2> moved = std::move(items);
    const SmallVector<int, 2> copy = moved;
    EXPECT_EQ(copy, (SmallVector<int, 2>{7, 2, 3}));
    moved = SmallVector<int, 2>{9};
    EXPECT_EQ(moved.back(), 9);
}

TEST(ThreadPool, coversEveryIndexOnce) {
    ThreadPool pool(3);
    std::vector<std::atomic<int>> seen(1000);
    for (int round = 0; round < 20; ++round) {
        pool.parallel_for(1000, 7, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
    }
    for (const auto& count : seen) EXPECT_EQ(count.load(), 20);
}

TEST(CpuTarget, hasAVector) {
    EXPECT_GE(host_target().vector_bytes(), 16);
    EXPECT_FALSE(host_target().key().empty());
}

}  // namespace
}  // namespace treadle
