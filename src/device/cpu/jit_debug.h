// gdb's interface for code that is made at run time: a list of object files in memory, and a function at which gdb
// stops to read what is new in it.
//
//     RegisteredObject known(image);  // an ELF object whose section headers hold the addresses of the loaded code
//
// gdb knows the code, with its lines and variables, until the object is destroyed. Safe to use from several threads.
#pragma once

#include <memory>
#include <string>

namespace treadle::device {

class RegisteredObject {
public:
    RegisteredObject();
    explicit RegisteredObject(std::string image);
    RegisteredObject(RegisteredObject&&) noexcept;
    RegisteredObject& operator=(RegisteredObject&&) noexcept;
    ~RegisteredObject();

private:
    struct Entry;
    std::unique_ptr<Entry> entry_;
};

}  // namespace treadle::device
