#include "frontend/scan.h"

#include <map>

namespace treadle::frontend {
namespace {

class Scanner {
public:
    explicit Scanner(const FunctionSyntax& function) {
        parents_.push_back(0);
        for (const std::string& param : function.params) assign(param, 0);
        list(function.body, 0);
        for (const auto& [name, facts] : names_) {
            if (facts.several_lists || facts.used_elsewhere) variables_.insert(name);
        }
    }

    std::set<std::string, std::less<>> take() { return std::move(variables_); }

private:
    struct Facts {
        std::size_t list = 0;
        bool several_lists = false;
        bool used_elsewhere = false;  // outside the list of its assignments, or before the first of them
    };

    std::size_t new_list(std::size_t parent) {
        parents_.push_back(parent);
        return parents_.size() - 1;
    }

    void list(const std::vector<Node>& statements, std::size_t id) {
        for (const Node& statement : statements) this->statement(statement, id);
    }

    void statement(const Node& node, std::size_t id) {
        switch (node.head) {
            case Head::Set:
                use(node.items[1], id);
                target(node.items[0], id);
                break;
            case Head::Aug:
                use(node.items[1], id);
                use(node.items[2], id);
                target(node.items[1], id);
                break;
            case Head::If:
                use(node.items[0], id);
                for (std::size_t i = 1; i < node.items.size(); ++i) list(node.items[i].items, new_list(id));
                break;
            case Head::While: {
                const std::size_t body = new_list(id);
                use(node.items[0], body);
                list(node.items[1].items, body);
                break;
            }
            case Head::For: {
                use(node.items[1], id);
                const std::size_t body = new_list(id);
                target(node.items[0], body);
                list(node.items[2].items, body);
                break;
            }
            default:
                for (const Node& item : node.items) use(item, id);
        }
    }

    void target(const Node& node, std::size_t id) {
        if (node.is_atom()) {
            assign(std::string(node.atom), id);
        } else if (node.head == Head::Tuple) {
            for (const Node& item : node.items) target(item, id);
        } else {
            use(node, id);
        }
    }

    void assign(const std::string& name, std::size_t id) {
        const auto [entry, is_new] = names_.try_emplace(name, Facts{id, false, used_.count(name) != 0});
        if (!is_new && entry->second.list != id) entry->second.several_lists = true;
    }

    void use(const Node& node, std::size_t id) {
        if (node.is_atom()) {
            const std::string name(node.atom);
            used_.insert(name);
            const auto entry = names_.find(name);
            if (entry != names_.end() && !inside(id, entry->second.list)) entry->second.used_elsewhere = true;
            return;
        }
        // The name of an attribute is none of a variable.
        const std::size_t count = node.head == Head::Attr ? 1 : node.items.size();
        for (std::size_t i = 0; i < count; ++i) use(node.items[i], id);
    }

    bool inside(std::size_t id, std::size_t ancestor) const {
        while (id != ancestor && id != 0) id = parents_[id];
        return id == ancestor;
    }

    std::vector<std::size_t> parents_;
    std::map<std::string, Facts> names_;
    std::set<std::string> used_;
    std::set<std::string, std::less<>> variables_;
};

}  // namespace

std::set<std::string, std::less<>> names_that_need_variables(const FunctionSyntax& function) {
    return Scanner(function).take();
}

}  // namespace treadle::frontend
