// holdall/index.hpp - indexes of bags: map content to record numbers.
#ifndef HOLDALL_INDEX_HPP
#define HOLDALL_INDEX_HPP

#include "bag.hpp"

namespace holdall {

// An index of a bag: finds the records that equal a key.
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
        out.call(holdall_bag_index_create, at.path(), static_cast<holdall_mode>(how), keys.get(), options.get(), out.put());
        return out;
    }
    // Opens an existing index.
    bag_index(const location &at, const bag &keys, const options &options = {}) : owner(options.callback())
    {
        call(holdall_bag_index_open, at.path(), keys.get(), options.get(), put());
    }
    // Takes ownership of a C handle.
    using owner::owner;

    // Number of distinct keys.
    std::uint64_t key_count() const noexcept { return holdall_bag_index_key_count(get()); }
    std::uint64_t damaged_count() const noexcept { return holdall_bag_index_damaged_count(get()); }

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
