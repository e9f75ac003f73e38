// holdall/store.hpp - stores of python-blosc2: trees of arrays and superchunks.
#ifndef HOLDALL_STORE_HPP
#define HOLDALL_STORE_HPP

#include "array.hpp"
#include "checks.hpp"
#include "schunk.hpp"
#include "table.hpp"

namespace holdall {

// An open store. Its nodes are opened by the constructors array(store, node), schunk(store, node)
// and table(store, node), or by a path such as "x.b2z/group/a".
class store : public detail::owner<holdall_store, holdall_store_close> {
public:
    explicit store(const location &at, const options &options = {}) : owner(options.callback())
    {
        call(holdall_store_open, at.path(), options.get(), put());
    }
    // Takes ownership of a C handle.
    using owner::owner;

    // Returns the paths of all nodes, in order.
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
};

inline array::array(const store &in, const std::string &node, const options &options) : callback_(options.callback())
{
    call(holdall_store_open_array, in.get(), node.c_str(), options.get(), put());
    update_view();
}

inline table::table(const store &in, const std::string &node, const options &options) : owner(options.callback())
{
    call(holdall_store_open_table, in.get(), node.c_str(), options.get(), put());
}

inline schunk::schunk(const store &in, const std::string &node, const options &options) : owner(options.callback())
{
    call(holdall_store_open_schunk, in.get(), node.c_str(), options.get(), put());
}

} // namespace holdall

#endif
