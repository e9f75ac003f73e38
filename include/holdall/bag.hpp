// holdall/bag.hpp - bags: records of any length; batches of them; their writer.
#ifndef HOLDALL_BAG_HPP
#define HOLDALL_BAG_HPP

#include "arrow.hpp"
#include "checks.hpp"

namespace holdall {

class bag_stream;
class epoch;
class record_iterator;

// A batch of records: batch[i] is bytes, as long as the batch lives.
class records : public detail::owner<holdall_records, holdall_records_close> {
public:
    explicit records(holdall_records *handle) noexcept
        : owner(handle), data_(holdall_records_data(handle)), offsets_(holdall_records_offsets(handle)), size_(holdall_records_count(handle)) {}

    class iterator {
    public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = bytes;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = bytes;

        iterator() noexcept = default;
        iterator(const std::uint8_t *data, const std::uint64_t *at) noexcept : data_(data), at_(at) {}
        bytes operator*() const noexcept { return (*this)[0]; }
        bytes operator[](difference_type i) const noexcept { return {data_ + at_[i], static_cast<std::size_t>(at_[i + 1] - at_[i])}; }
        iterator &operator++() noexcept { return ++at_, *this; }
        iterator &operator--() noexcept { return --at_, *this; }
        iterator operator++(int) noexcept { return {data_, at_++}; }
        iterator operator--(int) noexcept { return {data_, at_--}; }
        iterator &operator+=(difference_type n) noexcept { return at_ += n, *this; }
        iterator &operator-=(difference_type n) noexcept { return at_ -= n, *this; }
        friend iterator operator+(iterator i, difference_type n) noexcept { return i += n; }
        friend iterator operator+(difference_type n, iterator i) noexcept { return i += n; }
        friend iterator operator-(iterator i, difference_type n) noexcept { return i -= n; }
        friend difference_type operator-(iterator a, iterator b) noexcept { return a.at_ - b.at_; }
        friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }
        friend bool operator!=(iterator a, iterator b) noexcept { return a.at_ != b.at_; }
        friend bool operator<(iterator a, iterator b) noexcept { return a.at_ < b.at_; }
        friend bool operator>(iterator a, iterator b) noexcept { return b < a; }
        friend bool operator<=(iterator a, iterator b) noexcept { return !(b < a); }
        friend bool operator>=(iterator a, iterator b) noexcept { return !(a < b); }

    private:
        const std::uint8_t *data_ = nullptr;
        const std::uint64_t *at_ = nullptr;
    };

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    bytes operator[](std::size_t i) const noexcept { return {data_ + offsets_[i], static_cast<std::size_t>(offsets_[i + 1] - offsets_[i])}; }
    iterator begin() const noexcept { return {data_, offsets_}; }
    iterator end() const noexcept { return {data_, offsets_ + size_}; }
    // All of them end to end, and where each begins, with the end of the last.
    bytes data() const noexcept { return {data_, size_ == 0 ? 0 : static_cast<std::size_t>(offsets_[size_])}; }
    dims offsets() const noexcept { return {offsets_, size_ + 1}; }
    // Places in the batch of damaged records, which are empty: none without options::skip_damaged().
    dims damaged() const noexcept { return {holdall_records_damaged_at(get()), holdall_records_damaged(get())}; }
    // Of a batch from a stream: the numbers of its records in the bag.
    dims numbers() const noexcept
    {
        const std::uint64_t *n = holdall_records_numbers(get());
        return {n, n == nullptr ? 0 : size_};
    }

private:
    // Asked for once: a record is then no call.
    const std::uint8_t *data_;
    const std::uint64_t *offsets_;
    std::size_t size_;
};

class bag : public detail::owner<holdall_bag, holdall_bag_close> {
public:
    // A path, or a spec for several: "train@*.bagz"; or one storage.
    explicit bag(const place &spec, const options &options = {}) : owner(options.callback())
    {
        holdall_io *const io = spec.io();
        if (io != nullptr)
            call(holdall_bag_open_io, &io, std::uint32_t{1}, options.get(), put());
        else
            call(holdall_bag_open, spec.path(), options.get(), put());
    }
    // Several storages as one.
    explicit bag(span<io> shards, const options &options = {}) : owner(options.callback())
    {
        std::vector<holdall_io *> handles;
        for (io &shard : shards)
            handles.push_back(shard.get());
        call(holdall_bag_open_io, handles.data(), static_cast<std::uint32_t>(handles.size()), options.get(), put());
    }
    // Takes over a handle of C's.
    using owner::owner;

    std::uint64_t size() const noexcept { return holdall_bag_size(get()); }
    bool empty() const noexcept { return size() == 0; }
    holdall::codec codec() const noexcept { return static_cast<holdall::codec>(holdall_bag_codec(get())); }
    holdall::sum sum() const noexcept { return static_cast<holdall::sum>(holdall_bag_sum(get())); }
    holdall::limits limits() const noexcept { return static_cast<holdall::limits>(holdall_bag_limits(get())); }
    std::uint64_t cbytes() const noexcept { return holdall_bag_cbytes(get()); }
    std::uint32_t shards() const noexcept { return holdall_bag_shards(get()); }
    std::string_view shard_name(std::uint32_t i) const noexcept
    {
        const char *name = holdall_bag_shard_name(get(), i);
        return name == nullptr ? std::string_view() : std::string_view(name);
    }
    std::uint64_t shard_size(std::uint32_t i) const noexcept { return holdall_bag_shard_size(get(), i); }

    // The records start, start + step, ... n of them, as a bag.
    bag slice(std::uint64_t start, std::int64_t step, std::uint64_t n) const
    {
        bag out(from());
        call(holdall_bag_slice, get(), start, step, n, out.put());
        return out;
    }

    // Record i; sound, where it is given: false, it is damaged, skipped and empty here.
    std::string read(std::uint64_t i, bool *sound = nullptr) const
    {
        std::string out;
        const bool is = read(i, out);
        if (sound != nullptr)
            *sound = is;
        return out;
    }
    // The same into a string or vector of bytes, which has its size then, and is not made anew where it is as long or longer.
    // False: damaged, and skipped.
    template <class C> bool read(std::uint64_t i, C &out) const
    {
        static_assert(sizeof(typename C::value_type) == 1, "into bytes");
        std::size_t n = 0;
        holdall_error e;
        const bool asks = out.size() == 0;
        holdall_status status = holdall_bag_read(get(), i, asks ? nullptr : out.data(), out.size(), &n, &e);
        if (status == HOLDALL_E_BUFFER || (asks && status == HOLDALL_OK && n != 0)) {
            out.resize(n);
            status = holdall_bag_read(get(), i, out.data(), n, &n, &e);
        }
        if (status < 0)
            detail::fail(e, nullptr);
        out.resize(n);
        return status == HOLDALL_OK;
    }
    // Into a buffer that has room; returns how many bytes the record has. sound as with read().
    template <class C> std::size_t read_into(std::uint64_t i, C &&dst, bool *sound = nullptr) const
    {
        std::size_t n = 0;
        const holdall_status status = call(holdall_bag_read, get(), i, static_cast<void *>(std::data(dst)),
            std::size(dst) * sizeof *std::data(dst), &n);
        if (sound != nullptr)
            *sound = status == HOLDALL_OK;
        return n;
    }
    std::size_t size_of(std::uint64_t i) const
    {
        std::size_t n = 0;
        call(holdall_bag_read, get(), i, nullptr, std::size_t{0}, &n);
        return n;
    }
    records read_range(std::uint64_t first, std::uint64_t n) const
    {
        holdall_records *out = nullptr;
        call(holdall_bag_read_range, get(), first, n, &out);
        return records(out);
    }
    records read_indices(dims numbers) const
    {
        holdall_records *out = nullptr;
        call(holdall_bag_read_indices, get(), numbers.data(), numbers.size(), &out);
        return records(out);
    }
    // As read_range() and read_indices(), into memory that allocate(std::size_t) gives, called once; offsets: room for one more than there
    // are records. False: some were damaged, and are empty.
    template <class F> bool read_range_to(std::uint64_t first, F &&allocate, span<std::uint64_t> offsets) const
    {
        allocator<F> a(allocate, offsets);
        return detail::call_for(&a, holdall_bag_read_range_to, get(), first, offsets.size() - 1, a.give, static_cast<void *>(&a),
            offsets.data()) == HOLDALL_OK;
    }
    template <class F> bool read_indices_to(dims numbers, F &&allocate, span<std::uint64_t> offsets) const
    {
        allocator<F> a(allocate, offsets);
        if (offsets.size() <= numbers.size())
            throw error(HOLDALL_E_BUFFER, "room for " + std::to_string(offsets.size()) + " offsets: one more than there are records is wanted");
        return detail::call_for(&a, holdall_bag_read_indices_to, get(), numbers.data(), numbers.size(), a.give, static_cast<void *>(&a),
            offsets.data()) == HOLDALL_OK;
    }
    digest_bytes checksum(holdall::sum of) const
    {
        digest_bytes out(64);
        std::size_t n = 0;
        call(holdall_bag_checksum, get(), static_cast<std::int32_t>(of), static_cast<void *>(out.data()), out.size(), &n);
        out.resize(n);
        return out;
    }
    arrow_stream to_arrow(std::uint64_t first, std::uint64_t n, std::uint64_t batch = 0) const
    {
        arrow_stream out;
        call(holdall_bag_to_arrow, get(), first, n, batch, out.get());
        return out;
    }
    arrow_stream to_arrow() const { return to_arrow(0, size()); }

    // All records, read ahead in parallel: in their order, as `next` wants them (std::optional<std::uint64_t>(), none at the end), or those of an
    // epoch, which must outlive the stream. See stream.hpp.
    inline bag_stream stream(const options &options = {}) const;
    template <class F, std::enable_if_t<std::is_invocable_r_v<std::optional<std::uint64_t>, F &>, int> = 0>
    bag_stream stream(F next, const options &options = {}) const;
    inline bag_stream stream(epoch &numbers, const options &options = {}) const;
    // for (auto record : bag): the same in their order.
    inline record_iterator begin() const;
    inline record_iterator end() const noexcept;

private:
    friend class bag_index;

    template <class F> struct allocator : detail::callback {
        std::remove_reference_t<F> &f;

        allocator(std::remove_reference_t<F> &allocate, span<std::uint64_t> offsets) : f(allocate)
        {
            if (offsets.empty())
                throw error(HOLDALL_E_BUFFER, "no room for offsets: one more than there are records is wanted");
        }
        static void *give(void *ctx, std::size_t n) noexcept
        {
            auto *self = static_cast<allocator *>(ctx);
            try {
                return static_cast<void *>(self->f(n));
            } catch (...) {
                self->keep();
                return nullptr;
            }
        }
    };
};

// The files that a spec names.
inline std::vector<std::string> bag_files(const std::string &spec)
{
    const auto ends = detail::sized<std::string>(holdall_bag_files, spec.c_str());
    std::vector<std::string> out;
    for (std::size_t at = 0; at < ends.size(); at += out.back().size() + 1)
        out.emplace_back(ends.c_str() + at);
    return out;
}

class bag_writer : public detail::owner<holdall_bag_writer, holdall_bag_writer_close> {
public:
    explicit bag_writer(const place &at, mode how = mode::create, const options &options = {}) : owner(options.callback())
    {
        const auto m = static_cast<holdall_mode>(how);
        if (at.io() != nullptr)
            call(holdall_bag_writer_open_io, at.io(), m, options.get(), put());
        else
            call(holdall_bag_writer_open, at.path(), m, options.get(), put());
    }
    // Takes over a handle of C's.
    using owner::owner;

    // Records of the last commit and those appended since.
    std::uint64_t size() const noexcept { return holdall_bag_writer_size(get()); }
    void append(bytes record) { call(holdall_bag_writer_append, get(), static_cast<const void *>(record.data()), record.size()); }
    // Many at once: record i is data[offsets[i]] to data[offsets[i + 1]].
    void append_many(bytes data, dims offsets)
    {
        if (offsets.empty())
            throw error(HOLDALL_E_ARGUMENT, "no offsets: one more than there are records is wanted");
        call(holdall_bag_writer_append_many, get(), detail::some(data), offsets.data(), offsets.size() - 1);
    }
    // Now all are there; before, none of them.
    void commit() { call(holdall_bag_writer_commit, get()); }
};

} // namespace holdall

#endif
