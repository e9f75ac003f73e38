// holdall/schunk.hpp - superchunks: a sequence of bytes in compressed chunks.
#ifndef HOLDALL_SCHUNK_HPP
#define HOLDALL_SCHUNK_HPP

#include "checks.hpp"

#include <cerrno>
#include <functional>

namespace holdall {

// An open superchunk. Offsets and sizes are in bytes; chunks are numbered from 0.
class schunk : public detail::owner<holdall_schunk, holdall_schunk_close> {
public:
    explicit schunk(const location &at, mode how = mode::read, const options &options = {}) : owner(options.callback())
    {
        call(holdall_schunk_open, at.path(), static_cast<holdall_mode>(how), options.get(), put());
    }
    // Opens a node of a store (store.hpp). What it commits is in the next commit of the store.
    schunk(const store &in, const std::string &node, mode how = mode::read, const options &options = {});
    static schunk create(const location &at, mode how, format f, std::size_t typesize, const options &options = {})
    {
        schunk out(options.callback());
        out.call(holdall_schunk_create, at.path(), static_cast<holdall_mode>(how), static_cast<holdall_format>(f), typesize, options.get(),
            out.put());
        return out;
    }
    // Takes ownership of a C handle.
    using owner::owner;

    std::uint64_t chunk_count() const noexcept { return holdall_schunk_chunk_count(get()); }
    std::uint64_t nbytes() const noexcept { return holdall_schunk_nbytes(get()); }
    holdall_schunk_info info() const { return detail::info<holdall_schunk_info>(holdall_schunk_get_info, get()); }
    std::uint64_t generation() const noexcept { return holdall_schunk_generation(get()); }
    // Moves to the newest commit.
    void refresh() { call(holdall_schunk_refresh, get()); }
    holdall_chunk_info chunk_info(std::uint64_t chunk) const
    {
        return detail::info<holdall_chunk_info>(holdall_schunk_get_chunk_info, get(), chunk);
    }

    // Fills dst with the content from byte `start` on. Returns false if corrupt data were skipped.
    template <class C> bool read_into(std::uint64_t start, C &&dst) const
    {
        static_assert(std::is_trivially_copyable_v<detail::element<C>>, "into plain values");
        return call(holdall_schunk_read, get(), start, static_cast<void *>(std::data(dst)), std::size(dst) * sizeof *std::data(dst)) == HOLDALL_OK;
    }
    // Returns n values from byte `start` on. Sets *intact, if given, to the result of read_into().
    template <class T = std::byte> std::vector<T> read(std::uint64_t start, std::size_t n, bool *intact = nullptr) const
    {
        std::vector<T> out(n);
        detail::report(intact, read_into(start, out));
        return out;
    }
    // Returns the content of a chunk.
    std::vector<std::byte> read_chunk(std::uint64_t chunk, bool *intact = nullptr) const
    {
        std::vector<std::byte> out(chunk_info(chunk).nbytes);
        std::size_t n = 0;
        detail::report(intact, call(holdall_schunk_read_chunk, get(), chunk, static_cast<void *>(out.data()), out.size(), &n) == HOLDALL_OK);
        return out;
    }
    // Returns the number of bytes up to the end of each block of a chunk, from 0 on.
    std::vector<std::uint64_t> block_offsets(std::uint64_t chunk) const
    {
        std::size_t count = 0;
        call(holdall_schunk_block_offsets, get(), chunk, static_cast<std::uint64_t *>(nullptr), std::size_t{0}, &count);
        std::vector<std::uint64_t> out(count + 1);
        call(holdall_schunk_block_offsets, get(), chunk, out.data(), out.size(), &count);
        return out;
    }
    // Returns the content of a block, without decoding the others. Sets *intact, if given, to false if
    // other parts are corrupt.
    std::vector<std::byte> read_block(std::uint64_t chunk, std::size_t block, bool *intact = nullptr) const
    {
        std::size_t n = 0;
        call(holdall_schunk_read_block, get(), chunk, block, static_cast<void *>(nullptr), n, &n);
        std::vector<std::byte> out(n);
        detail::report(intact, call(holdall_schunk_read_block, get(), chunk, block, static_cast<void *>(out.data()), n, &n) == HOLDALL_OK);
        return out;
    }
    // Returns a chunk in its stored, encoded form.
    std::vector<std::byte> read_raw(std::uint64_t chunk) const
    {
        return detail::sized<std::vector<std::byte>>(holdall_schunk_read_raw, get(), chunk);
    }
    checksum_bytes checksum(holdall::checksum kind) const
    {
        return detail::sized_for<checksum_bytes>(from().get(), holdall_schunk_checksum, get(), static_cast<std::int32_t>(kind));
    }

    void append(bytes content) { call(holdall_schunk_append, get(), detail::some(content), content.size()); }
    void append_raw(bytes chunk) { call(holdall_schunk_append_raw, get(), detail::some(chunk), chunk.size()); }
    void write(std::uint64_t start, bytes content) { call(holdall_schunk_write, get(), start, detail::some(content), content.size()); }
    void insert(std::uint64_t chunk, bytes content) { call(holdall_schunk_insert, get(), chunk, detail::some(content), content.size()); }
    // Inserts one chunk of blocks of any length.
    void insert_blocks(std::uint64_t chunk, const std::vector<bytes> &blocks)
    {
        std::vector<std::byte> data;
        std::vector<std::uint64_t> offsets{0};
        for (const bytes &block : blocks) {
            const auto *first = static_cast<const std::byte *>(block.data());
            data.insert(data.end(), first, first + block.size());
            offsets.push_back(data.size());
        }
        call(holdall_schunk_insert_blocks, get(), chunk, static_cast<const void *>(data.data()), offsets.data(), blocks.size());
    }
    void remove(std::uint64_t chunk) { call(holdall_schunk_remove, get(), chunk); }
    void truncate(std::uint64_t nbytes) { call(holdall_schunk_truncate, get(), nbytes); }
    void commit() { call(holdall_schunk_commit, get()); }
    // Returns false if corrupt data were skipped, which are zeros in the copy.
    bool copy(const location &at, mode how, format f, const options &options = {}) const
    {
        return detail::call_for(options.callback().get(), holdall_schunk_copy, get(), at.path(), static_cast<holdall_mode>(how),
                                static_cast<holdall_format>(f), options.get()) == HOLDALL_OK;
    }

    std::vector<std::string> attrs() const { return detail::names(get(), holdall_schunk_attr_count(get()), holdall_schunk_attr_name); }
    // Returns a named value. Sets *intact, if given, to false if it is corrupt and was skipped.
    std::optional<std::string> attr(const std::string &name, bool *intact = nullptr) const
    {
        return detail::named(holdall_schunk_attr_get, get(), name, intact);
    }
    void set_attr(const std::string &name, bytes value) { call(holdall_schunk_attr_set, get(), name.c_str(), detail::some(value), value.size()); }
    // In the header of a frame.
    void set_fixed_attr(const std::string &name, bytes value) { call(holdall_schunk_attr_set_fixed, get(), name.c_str(), detail::some(value), value.size()); }
    void remove_attr(const std::string &name) { call(holdall_schunk_attr_set, get(), name.c_str(), nullptr, std::size_t{0}); }
};

namespace detail {

// A caller's function that writes the output of a stream.
struct output : callback {
    std::function<void(bytes)> write;

    static std::int64_t call(void *ctx, const void *src, std::size_t n) noexcept
    {
        auto *self = static_cast<output *>(ctx);
        try {
            return self->write(bytes(src, n)), 0;
        } catch (...) {
            self->capture();
            return -EIO;
        }
    }
};

} // namespace detail

// Writes a Bloscpack file from front to back, for a pipe or a socket. The function gets the output
// in order, and throws if it cannot write all of it. Without finish() the file is truncated.
class schunk_stream : public detail::owner<holdall_schunk_stream, holdall_schunk_stream_free> {
public:
    // length: bytes of content; nullopt: unknown.
    explicit schunk_stream(std::function<void(bytes)> write, std::size_t typesize = 1, std::optional<std::uint64_t> length = std::nullopt,
                           const options &options = {})
        : schunk_stream(std::make_shared<detail::output>(), std::move(write), typesize, length, options) {}

    void set_metadata(bytes json) { call(holdall_schunk_stream_set_metadata, get(), detail::some(json), json.size()); }
    void write(bytes content) { call(holdall_schunk_stream_write, get(), detail::some(content), content.size()); }
    void finish() { call(holdall_schunk_stream_finish, get()); }

private:
    schunk_stream(const std::shared_ptr<detail::output> &out, std::function<void(bytes)> write, std::size_t typesize,
                  std::optional<std::uint64_t> length, const options &options)
        : owner(std::shared_ptr<detail::callback>(out))
    {
        out->write = std::move(write);
        call(holdall_schunk_stream_new, out->write ? detail::output::call : nullptr, static_cast<void *>(out.get()), typesize,
             length.value_or(UINT64_MAX), options.get(), put());
    }
};

} // namespace holdall

#endif
