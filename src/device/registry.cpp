#include <atomic>
#include <cstdlib>
#include <string>

#include <pthread.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/device.h"

namespace treadle::device {

namespace {

std::atomic<PrintSink> sink{nullptr};
std::atomic<bool> made{false};

}  // namespace

Device& current_device() {
    // Never destroyed: work may be in flight while the process exits, and threads may still look at it.
    static Device* const device = [] {
        const char* asked = std::getenv("TREADLE_DEVICE");
        const std::string name = asked == nullptr || *asked == '\0' ? "cpu" : asked;
        if (name != "cpu" && name != "cpu:0") {
            throw Error(ErrorKind::Unsupported,
                        "[TREADLE_DEVICE] expected cpu, got '" + name + "': this build has the CPU device only");
        }
        Device* cpu = make_cpu_device().release();
        made = true;
        pthread_atfork(nullptr, nullptr, [] { made = false; });
        return cpu;
    }();
    return *device;
}

int device_count() { return 1; }
bool device_is_used() { return made; }

void set_print_sink(PrintSink function) { sink = function; }
PrintSink print_sink() { return sink; }

}  // namespace treadle::device
