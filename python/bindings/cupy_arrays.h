// CuPy's arrays, which offer no table of functions: read by a few plain attributes, several times faster than through
// the dictionary of __cuda_array_interface__.
#pragma once

#include <optional>

#include "interop/dlpack.h"
#include "module.h"

namespace treadle::bindings {

bool is_cupy_array(PyTypeObject* type);
// Nothing for memory that is described otherwise than the first array's was. Throws what the attributes raise, and
// Error(Type) for element types that we do not have.
std::optional<interop::ForeignView> cupy_view(nb::handle array);
// The handle of the stream that CuPy has current in this thread; 0 is the legacy default stream.
std::uint64_t cupy_stream();

}  // namespace treadle::bindings
