// holdall/schunk.hpp - superchunks: a sequence of bytes in compressed chunks.
#ifndef HOLDALL_SCHUNK_HPP
#define HOLDALL_SCHUNK_HPP

#include "checks.hpp"

namespace holdall {

class schunk : public detail::owner<holdall_schunk, holdall_schunk_close> {
public:
    explicit schunk(const location &at, mode how = mode::read, const options &options = {}) : owner(options.callback())
    {
        const auto m = static_cast<holdall_mode>(how);
        if (at.io() != nullptr)
            call(holdall_schunk_open_io, at.io(), m, options.get(), put());
        else
            call(holdall_schunk_open, at.path(), m, options.get(), put());
    }
    static schunk create(const location &at, mode how, format f, std::size_t typesize, const options &options = {})
    {
        schunk out(options.callback());
        const auto m = static_cast<holdall_mode>(how);
        const auto form = static_cast<holdall_format>(f);
        if (at.io() != nullptr)
            out.call(holdall_schunk_create_io, at.io(), m, form, typesize, options.get(), out.put());
        else
            out.call(holdall_schunk_create, at.path(), m, form, typesize, options.get(), out.put());
        return out;
    }
    // Takes ownership of a C handle.
    using owner::owner;

    std::uint64_t chunks() const noexcept { return holdall_schunk_chunks(get()); }
    std::uint64_t nbytes() const noexcept { return holdall_schunk_nbytes(get()); }
    std::uint64_t cbytes() const noexcept { return holdall_schunk_cbytes(get()); }
    std::size_t typesize() const noexcept { return holdall_schunk_typesize(get()); }
    std::size_t chunk_size() const noexcept { return holdall_schunk_chunk_size(get()); }
    holdall::sum sum() const noexcept { return static_cast<holdall::sum>(holdall_schunk_sum(get())); }
    int version() const noexcept { return holdall_schunk_version(get()); }

    struct chunk_info {
        std::size_t nbytes, cbytes;
        holdall::codec codec;
    };
    chunk_info chunk(std::uint64_t i) const
    {
        std::size_t n = 0, c = 0;
        std::int32_t k = 0;
        call(holdall_schunk_chunk_info, get(), i, &n, &c, &k);
        return {n, c, static_cast<holdall::codec>(k)};
    }

    // Fills dst with the content from byte `at` on. Returns false if corrupt data were skipped.
    template <class C> bool read_into(std::uint64_t at, C &&dst) const
    {
        static_assert(std::is_trivially_copyable_v<detail::element<C>>, "into plain values");
        return call(holdall_schunk_read, get(), at, static_cast<void *>(std::data(dst)), std::size(dst) * sizeof *std::data(dst)) == HOLDALL_OK;
    }
    // Returns n values from byte `at` on. Sets *intact, if given, to the result of read_into().
    template <class T = std::byte> std::vector<T> read(std::uint64_t at, std::size_t n, bool *intact = nullptr) const
    {
        std::vector<T> out(n);
        report(intact, read_into(at, out));
        return out;
    }
    // Returns the content of a chunk.
    std::vector<std::byte> read_chunk(std::uint64_t i, bool *intact = nullptr) const
    {
        std::vector<std::byte> out(chunk(i).nbytes);
        std::size_t n = 0;
        report(intact, call(holdall_schunk_read_chunk, get(), i, static_cast<void *>(out.data()), out.size(), &n) == HOLDALL_OK);
        return out;
    }
    // Returns a chunk in its stored, encoded form.
    std::vector<std::byte> read_raw(std::uint64_t i) const { return detail::sized<std::vector<std::byte>>(holdall_schunk_read_raw, get(), i); }
    digest_bytes checksum(holdall::sum of) const
    {
        digest_bytes out(64); // the longest digest; querying the size would read everything twice
        std::size_t n = 0;
        call(holdall_schunk_checksum, get(), static_cast<std::int32_t>(of), static_cast<void *>(out.data()), out.size(), &n);
        out.resize(n);
        return out;
    }

    void append(bytes content) { call(holdall_schunk_append, get(), detail::some(content), content.size()); }
    void append_raw(bytes chunk) { call(holdall_schunk_append_raw, get(), detail::some(chunk), chunk.size()); }
    void write(std::uint64_t at, bytes content) { call(holdall_schunk_write, get(), at, detail::some(content), content.size()); }
    void insert(std::uint64_t i, bytes content) { call(holdall_schunk_insert, get(), i, detail::some(content), content.size()); }
    void remove(std::uint64_t i) { call(holdall_schunk_remove, get(), i); }
    void truncate(std::uint64_t nbytes) { call(holdall_schunk_truncate, get(), nbytes); }
    void commit() { call(holdall_schunk_commit, get()); }
    // Returns false if corrupt data were skipped, which are zeros in the copy.
    bool copy(const std::string &path, mode how, format f, const options &options = {}) const
    {
        return detail::call_for(options.callback().get(), holdall_schunk_copy, get(), location(path).path(), static_cast<holdall_mode>(how),
                                static_cast<holdall_format>(f), options.get()) == HOLDALL_OK;
    }

    std::vector<std::string> metas() const { return detail::names(get(), holdall_schunk_metas(get()), holdall_schunk_meta_name); }
    std::optional<std::string> meta(const std::string &name) const { return detail::named(holdall_schunk_meta_get, get(), name); }
    void set_meta(const std::string &name, bytes value) { call(holdall_schunk_meta_set, get(), name.c_str(), detail::some(value), value.size()); }
    void remove_meta(const std::string &name) { call(holdall_schunk_meta_set, get(), name.c_str(), nullptr, std::size_t{0}); }

private:
    static void report(bool *intact, bool is) noexcept
    {
        if (intact != nullptr)
            *intact = is;
    }
};

} // namespace holdall

#endif
