// Arrays of other libraries as arguments.
#pragma once

#include "base/small_vector.h"
#include "module.h"
#include "runtime/function.h"

namespace treadle::bindings {

// Streams of other libraries whose work a launch comes after, and before.
class ForeignStreams {
public:
    void add(std::uint64_t handle);
    // The one that CuPy has current: where an array's memory was last used is not known.
    void add_current_of_cupy();
    void before(device::Stream& stream) const;
    void after(device::Stream& stream) const;

private:
    SmallVector<std::uint64_t, 4> handles_;
    bool knows_cupy_ = false;
};

// Adds an array of another library, without Python code where its type has DLPack's table of functions. Returns false
// for what is no array of a device. Throws Error(Type), naming the argument, for memory out of the device's reach.
bool add_foreign_array(runtime::Arguments& arguments, nb::handle value, const std::string& name,
                       ForeignStreams& streams);

}  // namespace treadle::bindings
