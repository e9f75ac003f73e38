// holdall/index.hpp - indexes of bags: map content to record numbers.
#ifndef HOLDALL_INDEX_HPP
#define HOLDALL_INDEX_HPP

#include "bag.hpp"

namespace holdall {

class bag_index : public detail::owner<holdall_bag_index, holdall_bag_index_close> {
public:
    // Builds an index in memory.
    static bag_index build(const bag &keys, const options &options = {})
    {
        bag_index out(options.callback());
        out.call(holdall_bag_index_build, keys.get(), options.get(), out.put());
        return out;
    }
    // Creates an index in a file.
    static bag_index create(const location &at, mode how, const bag &keys, const options &options = {})
    {
        bag_index out(options.callback());
        const auto m = static_cast<holdall_mode>(how);
        if (at.io() != nullptr)
            out.call(holdall_bag_index_create_io, at.io(), m, keys.get(), options.get(), out.put());
        else
            out.call(holdall_bag_index_create, at.path(), m, keys.get(), options.get(), out.put());
        return out;
    }
    // Opens an existing index.
    bag_index(const location &at, const bag &keys, const options &options = {}) : owner(options.callback())
    {
        if (at.io() != nullptr)
            call(holdall_bag_index_open_io, at.io(), keys.get(), options.get(), put());
        else
            call(holdall_bag_index_open, at.path(), keys.get(), options.get(), put());
    }
    // Takes ownership of a C handle.
    using owner::owner;

    // Number of distinct keys.
    std::uint64_t keys() const noexcept { return holdall_bag_index_keys(get()); }
    std::uint64_t damaged() const noexcept { return holdall_bag_index_damaged(get()); }

    // Returns the first record that equals the key.
    std::optional<std::uint64_t> find_first(bytes key) const
    {
        std::uint64_t record = 0;
        if (call(holdall_bag_index_find_first, get(), detail::some(key), key.size(), &record) == HOLDALL_NOT_FOUND)
            return std::nullopt;
        return record;
    }
    // Returns all records that equal the key, in ascending order.
    std::vector<std::uint64_t> find(bytes key) const
    {
        std::size_t n = 0;
        call(holdall_bag_index_find, get(), detail::some(key), key.size(), nullptr, std::size_t{0}, &n);
        std::vector<std::uint64_t> out(n);
        if (n != 0)
            call(holdall_bag_index_find, get(), detail::some(key), key.size(), out.data(), n, &n);
        return out;
    }
    // Returns the first record of each of many keys: key i is data[offsets[i]] to data[offsets[i +
    // 1]]. HOLDALL_NO_RECORD: there is none.
    std::vector<std::uint64_t> find_many(bytes data, dims offsets) const
    {
        std::vector<std::uint64_t> out(offsets.empty() ? 0 : offsets.size() - 1);
        if (!out.empty())
            // A status > 0 means that some keys were not found, which the results show.
            (void)call(holdall_bag_index_find_many, get(), detail::some(data), offsets.data(), out.size(), out.data());
        return out;
    }
};

} // namespace holdall

#endif
