#include "device/cuda/stream_report.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/reports.h"

namespace treadle::device::cuda {
namespace {

constexpr unsigned kMappedHostMemory = 2;

}  // namespace

StreamReport::~StreamReport() {
    if (report_ == nullptr) return;
    const CleanupScope scope(device_.context());
    if (!scope) return;
    driver().mem_free_host(report_);
    driver().mem_free(scratch_);
}

DeviceReport* StreamReport::memory(CuStream stream) {
    const std::lock_guard lock(mutex_);
    if (report_ == nullptr) {
        const Driver& cu = driver();
        CuPointer scratch = 0;
        const auto allocate = [&] { return cu.mem_alloc(&scratch, sizeof(DeviceScratch)); };
        check(device_.memory().with_memory(allocate), "cuMemAlloc");
        void* memory = nullptr;
        CuResult result = cu.memset_async(scratch, 0, sizeof(DeviceScratch), stream);
        if (result == kSuccess) result = cu.mem_host_alloc(&memory, sizeof(DeviceReport), kMappedHostMemory);
        if (result != kSuccess) cu.mem_free(scratch);
        check(result, "cuMemHostAlloc");
        std::memset(memory, 0, offsetof(DeviceReport, prints));
        report_ = static_cast<DeviceReport*>(memory);
        scratch_ = scratch;
    }
    return report_;
}

void StreamReport::keep(std::exception_ptr fault) {
    const std::lock_guard lock(mutex_);
    if (!fault_) fault_ = std::move(fault);
}

bool StreamReport::is_empty() const {
    const std::lock_guard lock(mutex_);
    return !fault_ && (report_ == nullptr || (report_->print_cursor == 0 && report_->launch == 0));
}

// Called with the lock held, as the next one.
std::vector<Printed> StreamReport::take_lines() {
    if (report_ == nullptr || report_->print_cursor == 0) return {};
    std::vector<std::pair<std::uint64_t, Printed>> found;
    const std::uint64_t end = std::min<std::uint64_t>(report_->print_cursor, DeviceReport::kPrintWords);
    constexpr std::uint64_t kHead = sizeof(PrintLine) / 8;
    for (std::uint64_t at = 0; at + kHead <= end;) {
        PrintLine line{};
        std::memcpy(&line, report_->prints + at, sizeof line);
        const std::uint64_t count = line.text_and_values & 0xffffffff;
        if (at + kHead + count > end) break;
        const std::uint64_t* values = report_->prints + at + kHead;
        found.emplace_back(line.launch, Printed{device_.kernel_of(line.launch),
                                                static_cast<std::int64_t>(line.text_and_values >> 32),
                                                static_cast<std::int64_t>(line.block),
                                                static_cast<std::int64_t>(line.thread),
                                                {values, values + count}});
        at += kHead + count;
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        return a.second.block != b.second.block ? a.second.block < b.second.block : a.second.thread < b.second.thread;
    });
    if (report_->print_cursor > DeviceReport::kPrintWords && !fault_)
        fault_ =
            std::make_exception_ptr(Error(ErrorKind::Memory, "kernels printed more between two waits than the " +
                                                                 std::to_string(DeviceReport::kPrintWords * 8 >> 20) +
                                                                 " MiB that are kept for it: later lines are lost"));
    // Taken lines are over: what is left of them is not to be read again.
    std::memset(report_->prints, 0, 8 * end);
    report_->print_cursor = 0;
    std::vector<Printed> lines;
    for (auto& [launch, line] : found) lines.push_back(std::move(line));
    return lines;
}

std::exception_ptr StreamReport::take_fault(CuStream stream) {
    std::exception_ptr fault;
    std::swap(fault, fault_);
    if (report_ == nullptr || report_->launch == 0) return fault;
    const std::shared_ptr<const KernelDebug> debug = device_.kernel_of(report_->launch);
    FaultRecord record{report_->line, report_->axis, report_->index, report_->rank, {}, {}, {}};
    std::copy_n(report_->shape, FaultRecord::kMostAxes, record.shape);
    std::copy_n(report_->block, 3, record.block);
    std::copy_n(report_->thread, 3, record.thread);
    if (!fault) fault = fault_error(record, debug.get());
    report_->launch = 0;
    const ContextScope scope(device_.context());
    constexpr std::size_t kFaults = offsetof(DeviceScratch, fault_launch);
    check(driver().memset_async(scratch_ + kFaults, 0, sizeof(DeviceScratch) - kFaults, stream), "cuMemsetD8Async");
    return fault;
}

void StreamReport::deliver(CuStream stream) {
    std::vector<Printed> lines;
    std::exception_ptr fault;
    {
        const std::lock_guard lock(mutex_);
        lines = take_lines();
        fault = take_fault(stream);
    }
    if (!lines.empty() && print_sink() != nullptr) print_sink()(lines);
    if (fault) std::rethrow_exception(fault);
}

}  // namespace treadle::device::cuda
