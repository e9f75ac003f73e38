// holdall/store.hpp - stores of python-blosc2: trees of arrays, superchunks and tables.
#ifndef HOLDALL_STORE_HPP
#define HOLDALL_STORE_HPP

#include "array.hpp"
#include "checks.hpp"
#include "schunk.hpp"
#include "table.hpp"

namespace holdall {

// An open store. Its nodes are opened by the constructors array(store, node, mode), schunk(store,
// node, mode) and table(store, node, mode), or by a path such as "x.b2z/group/a". While a node is open
// for changes, no other thread may use the store.
class store : public detail::owner<holdall_store, holdall_store_close> {
public:
    // mode::append: to change nodes in one commit.
    explicit store(const location &at, mode how = mode::read, const options &options = {}) : owner(options.callback())
    {
        call(holdall_store_open, at.path(), static_cast<holdall_mode>(how), options.get(), put());
    }
    // Creates a store, which exists from its first commit on. std::nullopt: the end of the path
    // determines the format.
    static store create(const location &at, mode how, std::optional<format> f = std::nullopt, const options &options = {})
    {
        store out(options.callback());
        out.call(holdall_store_create, at.path(), static_cast<holdall_mode>(how), f ? static_cast<holdall_format>(*f) : holdall_format{0},
            options.get(), out.put());
        return out;
    }
    // Takes ownership of a C handle.
    using owner::owner;

    // Returns the paths of all nodes at the last commit, in order.
    std::vector<std::string> nodes() const
    {
        std::vector<std::string> out(holdall_store_node_count(get()));
        for (std::size_t i = 0; i < out.size(); i++)
            out[i] = holdall_store_node_path(get(), i);
        return out;
    }
    identity identify(const std::string &node) const
    {
        holdall_format f = 0;
        holdall_kind k = 0;
        call(holdall_store_identify, get(), node.c_str(), &f, &k);
        return {static_cast<format>(f), static_cast<kind>(k)};
    }

    // Returns the storage of a new node, for a call that creates or copies one with the path "":
    // array::create<double>("", mode::create, format::b2nd, {100},
    //                       options().storage(s.node_storage("/a", kind::array))).
    // The format of a superchunk is format::b2frame, that of a table format::ctable.
    storage node_storage(const std::string &node, kind k) const
    {
        holdall_storage *out = nullptr;
        call(holdall_store_node_storage, get(), node.c_str(), static_cast<holdall_kind>(k), &out);
        return storage(out);
    }
    // Copies all nodes, as they are stored, to a new store, complete or not at all. std::nullopt: as for
    // create().
    void copy(const location &at, mode how, std::optional<format> f = std::nullopt, const options &options = {}) const
    {
        detail::call_for(options.callback().get(), holdall_store_copy, get(), at.path(), static_cast<holdall_mode>(how),
                         f ? static_cast<holdall_format>(*f) : holdall_format{0}, options.get());
    }
    // Removes a node or a group with the next commit. No handle of it may be open.
    void remove(const std::string &node) { call(holdall_store_remove, get(), node.c_str()); }
    // Makes what nodes have committed, and removals, visible and durable in one step. Open nodes stay
    // valid.
    void commit() { call(holdall_store_commit, get()); }
};

inline array::array(const store &in, const std::string &node, mode how, const options &options) : callback_(options.callback())
{
    call(holdall_store_open_array, in.get(), node.c_str(), static_cast<holdall_mode>(how), options.get(), put());
    update_view();
}

inline table::table(const store &in, const std::string &node, mode how, const options &options) : owner(options.callback())
{
    call(holdall_store_open_table, in.get(), node.c_str(), static_cast<holdall_mode>(how), options.get(), put());
}

inline schunk::schunk(const store &in, const std::string &node, mode how, const options &options) : owner(options.callback())
{
    call(holdall_store_open_schunk, in.get(), node.c_str(), static_cast<holdall_mode>(how), options.get(), put());
}

} // namespace holdall

#endif
