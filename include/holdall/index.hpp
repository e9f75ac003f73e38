// holdall/index.hpp - indexes of bags: from content to the numbers of records.
#ifndef HOLDALL_INDEX_HPP
#define HOLDALL_INDEX_HPP

#include "bag.hpp"

namespace holdall {

class bag_index : public detail::owner<holdall_bag_index, holdall_bag_index_close> {
public:
    // In memory.
    static bag_index build(const bag &keys, const options &options = {})
    {
        bag_index out(options.callback());
        out.call(holdall_bag_index_build, keys.get(), options.get(), out.put());
        return out;
    }
    // In a file.
    static bag_index create(const place &at, mode how, const bag &keys, const options &options = {})
    {
        bag_index out(options.callback());
        const auto m = static_cast<holdall_mode>(how);
        if (at.io() != nullptr)
            out.call(holdall_bag_index_create_io, at.io(), m, keys.get(), options.get(), out.put());
        else
            out.call(holdall_bag_index_create, at.path(), m, keys.get(), options.get(), out.put());
        return out;
    }
    // One that is there.
    bag_index(const place &at, const bag &keys, const options &options = {}) : owner(options.callback())
    {
        if (at.io() != nullptr)
            call(holdall_bag_index_open_io, at.io(), keys.get(), options.get(), put());
        else
            call(holdall_bag_index_open, at.path(), keys.get(), options.get(), put());
    }
    // Takes over a handle of C's.
    using owner::owner;

    // How many different keys.
    std::uint64_t keys() const noexcept { return holdall_bag_index_keys(get()); }
    std::uint64_t damaged() const noexcept { return holdall_bag_index_damaged(get()); }

    // The first record that is this key.
    std::optional<std::uint64_t> find_first(bytes key) const
    {
        std::uint64_t record = 0;
        if (call(holdall_bag_index_find_first, get(), detail::some(key), key.size(), &record) == HOLDALL_NOT_FOUND)
            return std::nullopt;
        return record;
    }
    // All of them, rising.
    std::vector<std::uint64_t> find(bytes key) const
    {
        std::size_t n = 0;
        call(holdall_bag_index_find, get(), detail::some(key), key.size(), nullptr, std::size_t{0}, &n);
        std::vector<std::uint64_t> out(n);
        if (n != 0)
            call(holdall_bag_index_find, get(), detail::some(key), key.size(), out.data(), n, &n);
        return out;
    }
    // The first record of each of many keys: key i is data[offsets[i]] to data[offsets[i + 1]]. HOLDALL_NO_RECORD: there is none.
    std::vector<std::uint64_t> find_many(bytes data, dims offsets) const
    {
        std::vector<std::uint64_t> out(offsets.empty() ? 0 : offsets.size() - 1);
        if (!out.empty())
            // > 0: some are not there, which their places say
            (void)call(holdall_bag_index_find_many, get(), detail::some(data), offsets.data(), out.size(), out.data());
        return out;
    }
};

} // namespace holdall

#endif
