#include "device/device.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_kernel.h"
#include "ir/ir.h"

namespace treadle::device {
namespace {

void pause_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST(CpuMemory, isAlignedAndUsedAgain) {
    Device& device = current_device();
    void* first = nullptr;
    {
        const StorageRef storage = device.allocate(1000);
        first = storage->data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
        EXPECT_EQ(storage->size_bytes(), 1000U);
    }
    EXPECT_EQ(device.allocate(990)->data(), first);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device.allocate(std::size_t{5} << 20)->data()) % (std::size_t{2} << 20),
              0U);
    EXPECT_NE(device.allocate(0)->data(), nullptr);
    const MemoryUse before = device.memory_use();
    device.release_cached_memory();
    EXPECT_EQ(device.memory_use().cached_bytes, 0U);
    EXPECT_EQ(device.memory_use().used_bytes, before.used_bytes);
}

TEST(CpuMemory, refusesWhatCannotBe) {
    try {
        current_device().allocate(std::size_t{1} << 50);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Memory);
    }
}

TEST(CpuStream, runsWorkInOrderAndAsynchronously) {
    const auto stream = current_device().create_stream(false);
    std::vector<int> order;
    std::atomic<bool> go{false};
    stream->host(
        [&] {
            while (!go) std::this_thread::yield();
        },
        {});
    for (int i = 0; i < 50; ++i) stream->host([&order, i] { order.push_back(i); }, {});
    EXPECT_FALSE(stream->query());
    go = true;
    stream->synchronize();
    EXPECT_TRUE(stream->query());
    ASSERT_EQ(order.size(), 50U);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(CpuStream, keepsMemoryUntilWorkHasRun) {
    Device& device = current_device();
    const auto stream = device.create_stream(false);
    std::atomic<bool> go{false};
    stream->host(
        [&] {
            while (!go) std::this_thread::yield();
        },
        {});
    StorageRef storage = device.allocate(4096);
    auto* data = static_cast<char*>(storage->data());
    Storage* uses[] = {storage.get()};
    stream->host([data] { std::memset(data, 7, 4096); }, uses);
    storage = StorageRef();
    EXPECT_NE(device.allocate(4096)->data(), data) << "the block is still in use";
    go = true;
    stream->synchronize();
}

TEST(CpuStream, waitsForEventsOfOtherStreams) {
    Device& device = current_device();
    const auto first = device.create_stream(false);
    const auto second = device.create_stream(false);
    std::atomic<int> value{0};
    int seen = -1;
    first->host(
        [&] {
            pause_ms(30);
            value = 5;
        },
        {});
    const auto event = device.create_event();
    first->record(event);
    EXPECT_FALSE(event->query());
    second->wait(event);
    second->host([&] { seen = value; }, {});
    second->synchronize();
    EXPECT_EQ(seen, 5);
    EXPECT_TRUE(event->query());
}

TEST(CpuStream, defaultStreamFollowsLegacyRules) {
    Device& device = current_device();
    const auto blocking = device.create_stream(true);
    const auto free = device.create_stream(false);
    std::atomic<int> value{0};
    int at_default = -1, at_blocking = -1, at_free = -1;
    blocking->host(
        [&] {
            pause_ms(30);
            value = 1;
        },
        {});
    device.default_stream()->host(
        [&] {
            at_default = value;
            pause_ms(30);
            value = 2;
        },
        {});
    blocking->host([&] { at_blocking = value; }, {});
    free->host([&] { at_free = value; }, {});
    free->synchronize();
    EXPECT_EQ(at_free, 0) << "a non-blocking stream waits for nobody";
    device.synchronize();
    EXPECT_EQ(at_default, 1);
    EXPECT_EQ(at_blocking, 2);
}

TEST(CpuEvent, measuresTime) {
    Device& device = current_device();
    const auto stream = device.create_stream(false);
    const auto begin = device.create_event();
    const auto end = device.create_event();
    stream->record(begin);
    stream->host([] { pause_ms(20); }, {});
    stream->record(end);
    EXPECT_THROW(end->elapsed_ms(*device.create_event()), Error);
    end->synchronize();
    EXPECT_GE(end->elapsed_ms(*begin), 15.0);
}

TEST(CpuStream, keepsAFaultForTheNextSynchronisation) {
    const auto stream = current_device().create_stream(false);
    stream->host([] { throw Error(ErrorKind::Index, "first"); }, {});
    stream->host([] { throw Error(ErrorKind::Index, "second"); }, {});
    try {
        stream->synchronize();
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "first");
    }
    stream->synchronize();
}

TEST(FaultSlot, namesPlaceAndThread) {
    static_assert(ir::kLineBits == 20, "the CPU device splits line numbers the same way");
    FaultSlot slot;
    LaunchInfo info{{4, 2, 1}, {3, 2, 1}, nullptr, &slot, 0, 0};
    const std::int64_t shape[] = {10, 3};
    FaultSlot::report(&info, (1 << 20) | 3, 0, 12, shape, 2, 4, 5);
    KernelDebug debug{"k", {{"a.py", 1, ""}, {"b.py", 100, ""}}};
    try {
        std::rethrow_exception(slot.error(&debug));
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     "kernel 'k': index 12 is out of bounds for axis 0 of an array of shape (10, 3) (block (1, 1, 0), "
                     "thread (1, 1, "
                     "0))\n  File \"b.py\", line 102");
    }
}

TEST(CpuStream, survivesManyThreads) {
    Device& device = current_device();
    std::atomic<int> total{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            const auto stream = device.create_stream(true);
            for (int i = 0; i < 200; ++i) {
                const StorageRef storage = device.allocate(256);
                Storage* uses[] = {storage.get()};
                stream->host([&total] { ++total; }, uses);
                if (i % 50 == 0) device.default_stream()->host([&total] { ++total; }, {});
            }
            stream->synchronize();
        });
    }
    for (std::thread& thread : threads) thread.join();
    device.synchronize();
    EXPECT_EQ(total.load(), 4 * 204);
}

}  // namespace
}  // namespace treadle::device
