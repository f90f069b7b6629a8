#include "frontend/record.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace treadle::frontend {
namespace {

// Without the word that says how NumPy came to the layout.
std::string text_of(const Node& node) {
    if (node.is_atom()) return std::string(node.atom);
    std::string text = node.head == Head::Record ? "(record" : "(";
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (node.head == Head::Record && i == 1) continue;
        text += (text.back() == '(' ? "" : " ") + text_of(node.items[i]);
    }
    return text + ")";
}

[[noreturn]] void malformed(const Node& node) {
    throw Error(ErrorKind::Internal, "[syntax] not the layout of a record: " + text_of(node));
}

std::uint64_t number_of(const Node& node) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(node.atom.data(), node.atom.data() + node.atom.size(), value);
    if (!node.is_atom() || error != std::errc() || end != node.atom.data() + node.atom.size()) malformed(node);
    return value;
}

// Dates are counts of their units: M8[ns], m8[s].
DType number_type_of(std::string_view name) {
    return name.starts_with("M8") || name.starts_with("m8") ? DType::Int64 : dtype_from_name(name);
}

std::uint64_t size_of(const RecordField& field) {
    std::uint64_t bytes =
        field.record != nullptr ? field.record->size_bytes : static_cast<std::uint64_t>(treadle::size_of(field.dtype));
    for (const std::int64_t extent : field.shape) bytes *= static_cast<std::uint64_t>(extent);
    return bytes;
}

bool have_overlap(const std::vector<RecordField>& fields) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const RecordField& field : fields) {
        if (size_of(field) != 0) places.emplace_back(field.offset, field.offset + size_of(field));
        if (field.record != nullptr && field.record->overlaps) return true;
    }
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) {
        if (places[i].first < places[i - 1].second) return true;
    }
    return false;
}

}  // namespace

const RecordField* RecordType::find(std::string_view name) const {
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const RecordField& field) { return field.name == name; });
    return found == fields.end() ? nullptr : &*found;
}

std::string RecordType::field_names() const {
    std::string names;
    for (const RecordField& field : fields) names += (names.empty() ? "" : ", ") + field.name;
    return names;
}

const RecordType* RecordTypes::of(std::string_view text) { return of(parse_node(text)); }

const RecordType* RecordTypes::of(const Node& node) {
    if (node.head != Head::Record || node.items.size() < 2) malformed(node);
    const std::string text = text_of(node);
    const auto known = known_.find(text);
    if (known != known_.end()) return known->second.get();
    auto record = std::make_unique<RecordType>();
    record->text = text;
    record->size_bytes = number_of(node.items[0]);
    for (std::size_t i = 2; i < node.items.size(); ++i) {
        const Node& item = node.items[i];
        if (item.items.size() < 3 || item.items[0].atom.size() < 2) malformed(node);
        RecordField field;
        field.name = item.items[0].atom.substr(1, item.items[0].atom.size() - 2);
        field.offset = number_of(item.items[1]);
        if (item.items[2].is_atom()) {
            field.dtype = number_type_of(item.items[2].atom);
            if (field.dtype == DType::Count) malformed(node);
        } else {
            field.record = of(item.items[2]);
        }
        for (std::size_t axis = 3; axis < item.items.size(); ++axis)
            field.shape.push_back(static_cast<std::int64_t>(number_of(item.items[axis])));
        if (field.offset + size_of(field) > record->size_bytes) malformed(node);
        record->fields.push_back(std::move(field));
    }
    record->overlaps = have_overlap(record->fields);
    return known_.emplace(text, std::move(record)).first->second.get();
}

std::string describe(const RecordType& record) {
    std::string text = "record(";
    for (const RecordField& field : record.fields) {
        text += (text.back() == '(' ? "" : ", ") + field.name + ": ";
        text += field.record != nullptr ? describe(*field.record) : std::string(name_of(field.dtype));
        for (const std::int64_t extent : field.shape) text += "[" + std::to_string(extent) + "]";
    }
    return text + ")";
}

}  // namespace treadle::frontend
