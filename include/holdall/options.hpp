// holdall/options.hpp - the constants of holdall.h as types, and chained setters of options.
#ifndef HOLDALL_OPTIONS_HPP
#define HOLDALL_OPTIONS_HPP

#include "core.hpp"
#include "storage.hpp"

#include <functional>
#include <new>

namespace holdall {

class store;

// HOLDALL_READ and so on: create is HOLDALL_CREATE.
enum class mode : holdall_mode { read = HOLDALL_READ, append = HOLDALL_APPEND, create = HOLDALL_CREATE, replace = HOLDALL_REPLACE };
// HOLDALL_FORMAT_*
enum class format : holdall_format {
    bloscpack = HOLDALL_FORMAT_BLOSCPACK, bcolz = HOLDALL_FORMAT_BCOLZ, blz = HOLDALL_FORMAT_BLZ, blz_rfc = HOLDALL_FORMAT_BLZ_RFC,
    b2frame = HOLDALL_FORMAT_B2FRAME, caterva = HOLDALL_FORMAT_CATERVA, b2nd = HOLDALL_FORMAT_B2ND, bagz = HOLDALL_FORMAT_BAGZ,
    b2d = HOLDALL_FORMAT_B2D, b2z = HOLDALL_FORMAT_B2Z, b2e = HOLDALL_FORMAT_B2E, ctable = HOLDALL_FORMAT_CTABLE,
};
// HOLDALL_KIND_*
enum class kind : holdall_kind {
    schunk = HOLDALL_KIND_SCHUNK, array = HOLDALL_KIND_ARRAY, table = HOLDALL_KIND_TABLE, bag = HOLDALL_KIND_BAG,
    store = HOLDALL_KIND_STORE,
};
// HOLDALL_CODEC_*
enum class codec : std::int32_t {
    none = HOLDALL_CODEC_NONE, blosclz = HOLDALL_CODEC_BLOSCLZ, lz4 = HOLDALL_CODEC_LZ4, lz4hc = HOLDALL_CODEC_LZ4HC,
    snappy = HOLDALL_CODEC_SNAPPY, zlib = HOLDALL_CODEC_ZLIB, zstd = HOLDALL_CODEC_ZSTD, by_name = HOLDALL_CODEC_BY_NAME,
    mixed = HOLDALL_CODEC_MIXED,
};
// HOLDALL_FILTER_*
enum class filter : std::uint8_t {
    none = HOLDALL_FILTER_NONE, shuffle = HOLDALL_FILTER_SHUFFLE, bitshuffle = HOLDALL_FILTER_BITSHUFFLE,
    delta = HOLDALL_FILTER_DELTA, bytedelta = HOLDALL_FILTER_BYTEDELTA, trunc_prec = HOLDALL_FILTER_TRUNC_PREC,
};
// HOLDALL_CHECKSUM_*
enum class checksum : std::int32_t {
    none = HOLDALL_CHECKSUM_NONE, adler32 = HOLDALL_CHECKSUM_ADLER32, crc32 = HOLDALL_CHECKSUM_CRC32, md5 = HOLDALL_CHECKSUM_MD5,
    sha1 = HOLDALL_CHECKSUM_SHA1, sha224 = HOLDALL_CHECKSUM_SHA224, sha256 = HOLDALL_CHECKSUM_SHA256, sha384 = HOLDALL_CHECKSUM_SHA384,
    sha512 = HOLDALL_CHECKSUM_SHA512, zstd = HOLDALL_CHECKSUM_ZSTD,
};
// HOLDALL_ORDER_*
enum class order : std::int32_t { c = HOLDALL_ORDER_C, f = HOLDALL_ORDER_F };
// HOLDALL_IO_*
enum class io : std::int32_t { read = HOLDALL_IO_READ, map = HOLDALL_IO_MAP };
// HOLDALL_BAG_LIMITS_*
enum class limits : std::int32_t { tail = HOLDALL_BAG_LIMITS_TAIL, separate = HOLDALL_BAG_LIMITS_SEPARATE };
// HOLDALL_BAG_DICTIONARY_*
enum class stored_dictionary : std::int32_t {
    separate = HOLDALL_BAG_DICTIONARY_SEPARATE,
    stored = HOLDALL_BAG_DICTIONARY_STORED,
    automatic = HOLDALL_BAG_DICTIONARY_AUTO
};
// HOLDALL_BAG_SHARDS_*
enum class shards : std::int32_t { concatenated = HOLDALL_BAG_SHARDS_CONCATENATED, interleaved = HOLDALL_BAG_SHARDS_INTERLEAVED };

// Returns the name of a constant of these types: "zstd" for codec::zstd.
template <class E, std::enable_if_t<std::is_enum_v<E>, int> = 0> const char *constant_name(E constant) noexcept
{
    return holdall_constant_name(static_cast<std::int32_t>(constant));
}

namespace detail {

// Calls the progress function.
struct progress : callback {
    std::function<bool(std::uint64_t, std::uint64_t)> function;

    static int call(void *ctx, std::uint64_t done, std::uint64_t total) noexcept
    {
        auto *self = static_cast<progress *>(ctx);
        try {
            return self->function(done, total) ? 0 : 1;
        } catch (...) {
            self->capture();
            return 1;
        }
    }
};

} // namespace detail

// Options of a call: options().threads(4).codec(codec::zstd).level(9). Each setter has the name of
// a HOLDALL_OPT_*, which documents its meaning; the table in holdall/options.h says which call
// takes it.
class options : public detail::owner<holdall_options, holdall_options_free> {
public:
    // No option is set; passed as NULL to C.
    options() noexcept = default;

// Setters for both lvalues and temporaries.
#define HOLDALL_OPTION(name, type, ...)                                                                                                    \
    options &name(type value) & { return __VA_ARGS__, *this; }                                                                             \
    options &&name(type value) && { return __VA_ARGS__, std::move(*this); }
#define HOLDALL_NUMBER(name, type, option) HOLDALL_OPTION(name, type, set(option, static_cast<std::int64_t>(value)))

    HOLDALL_NUMBER(threads, std::uint32_t, HOLDALL_OPT_THREADS)
    HOLDALL_NUMBER(memory_limit, std::uint64_t, HOLDALL_OPT_MEMORY_LIMIT)
    HOLDALL_NUMBER(cache_bytes, std::uint64_t, HOLDALL_OPT_CACHE_BYTES)
    HOLDALL_NUMBER(chunk_dictionary, bool, HOLDALL_OPT_CHUNK_DICTIONARY)
    HOLDALL_NUMBER(io, holdall::io, HOLDALL_OPT_IO)
    HOLDALL_NUMBER(verify, int, HOLDALL_OPT_VERIFY)
    HOLDALL_NUMBER(skip_damaged, bool, HOLDALL_OPT_SKIP_DAMAGED)
    HOLDALL_NUMBER(durability, bool, HOLDALL_OPT_DURABILITY)
    HOLDALL_NUMBER(lock, bool, HOLDALL_OPT_LOCK)
    HOLDALL_NUMBER(codec, holdall::codec, HOLDALL_OPT_CODEC)
    HOLDALL_NUMBER(level, int, HOLDALL_OPT_LEVEL)
    HOLDALL_OPTION(filters, std::initializer_list<filter>, set(HOLDALL_OPT_FILTERS, bytes(std::data(value), value.size())))
    HOLDALL_NUMBER(chunk_bytes, std::uint64_t, HOLDALL_OPT_CHUNK_BYTES)
    HOLDALL_NUMBER(block_bytes, std::uint64_t, HOLDALL_OPT_BLOCK_BYTES)
    HOLDALL_NUMBER(checksum, holdall::checksum, HOLDALL_OPT_CHECKSUM)
    HOLDALL_OPTION(dictionary, bytes, set(HOLDALL_OPT_DICTIONARY, value))
    // The bytes of an item, or of a row.
    HOLDALL_OPTION(fill_value, bytes, set(HOLDALL_OPT_FILL_VALUE, value))
    HOLDALL_NUMBER(expected_rows, std::uint64_t, HOLDALL_OPT_EXPECTED_ROWS)
    HOLDALL_NUMBER(sparse, bool, HOLDALL_OPT_SPARSE)
    HOLDALL_NUMBER(superchunk_chunks, std::uint32_t, HOLDALL_OPT_SUPERCHUNK_CHUNKS)
    HOLDALL_NUMBER(offsets, bool, HOLDALL_OPT_OFFSETS)
    HOLDALL_NUMBER(spare_chunks, std::uint64_t, HOLDALL_OPT_SPARE_CHUNKS)
    HOLDALL_NUMBER(spare_bytes, std::uint64_t, HOLDALL_OPT_SPARE_BYTES)
    HOLDALL_NUMBER(format_version, int, HOLDALL_OPT_FORMAT_VERSION)
    HOLDALL_NUMBER(bag_dictionary, stored_dictionary, HOLDALL_OPT_BAG_DICTIONARY)
    HOLDALL_NUMBER(bag_limits, limits, HOLDALL_OPT_BAG_LIMITS)
    HOLDALL_NUMBER(bag_limits_cache, bool, HOLDALL_OPT_BAG_LIMITS_CACHE)
    HOLDALL_NUMBER(bag_shards, shards, HOLDALL_OPT_BAG_SHARDS)
    HOLDALL_NUMBER(bag_read_ahead, std::uint64_t, HOLDALL_OPT_BAG_READ_AHEAD)
    HOLDALL_NUMBER(bag_read_ahead_bytes, std::uint64_t, HOLDALL_OPT_BAG_READ_AHEAD_BYTES)
    HOLDALL_NUMBER(arrow_binary, bool, HOLDALL_OPT_ARROW_BINARY)
    HOLDALL_NUMBER(arrow_nulls, bool, HOLDALL_OPT_ARROW_NULLS)
    HOLDALL_NUMBER(frame_offset, std::uint64_t, HOLDALL_OPT_FRAME_OFFSET)
    HOLDALL_NUMBER(both_metalayers, bool, HOLDALL_OPT_BOTH_METALAYERS)
    HOLDALL_NUMBER(cloud_timeout, std::uint64_t, HOLDALL_OPT_CLOUD_TIMEOUT)
    HOLDALL_NUMBER(cloud_retries, std::uint32_t, HOLDALL_OPT_CLOUD_RETRIES)
    HOLDALL_NUMBER(cloud_requests, std::uint32_t, HOLDALL_OPT_CLOUD_REQUESTS)
    HOLDALL_NUMBER(dry_run, bool, HOLDALL_OPT_DRY_RUN)
    HOLDALL_NUMBER(order, int, HOLDALL_OPT_ORDER)
    HOLDALL_NUMBER(yaml, bool, HOLDALL_OPT_YAML)
    HOLDALL_NUMBER(follow_links, bool, HOLDALL_OPT_FOLLOW_LINKS)
    HOLDALL_NUMBER(precision, int, HOLDALL_OPT_PRECISION)
    // Sets a progress callback, (done, total), as holdall_progress_fn. If it returns false, the call
    // fails with HOLDALL_E_CANCELLED, unless all is done. It is alive as long as the handles that
    // are opened with these options.
    HOLDALL_OPTION(progress, std::function<bool(std::uint64_t, std::uint64_t)>, set_progress(std::move(value)))

    // Sets the storage that replaces the path, which must then be "". It may be freed right after.
    HOLDALL_OPTION(storage, const holdall::storage &, set_storage(span<const holdall::storage>(&value, 1)))
    // Several: one for each shard of a bag.
    HOLDALL_OPTION(storage, span<const holdall::storage>, set_storage(value))

#undef HOLDALL_NUMBER
#undef HOLDALL_OPTION

    // Sets an option by its number.
    void set(holdall_option option, std::int64_t value) { detail::call(holdall_options_set, created(), option, value); }
    void set(holdall_option option, bytes value)
    {
        detail::call(holdall_options_set_bytes, created(), option, detail::some(value), value.size());
    }
    // The callback that handles opened with these options share.
    const std::shared_ptr<detail::callback> &callback() const noexcept { return from_; }

private:
    holdall_options *created()
    {
        if (!*this && (*put() = holdall_options_new()) == nullptr)
            throw std::bad_alloc();
        return get();
    }
    void set_storage(span<const holdall::storage> storages)
    {
        std::vector<holdall_storage *> handles;
        for (const holdall::storage &one : storages)
            handles.push_back(const_cast<holdall_storage *>(one.get())); // which many threads may use
        detail::call(holdall_options_set_storage, created(), static_cast<holdall_storage *const *>(handles.data()),
            static_cast<std::uint32_t>(handles.size()));
    }
    void set_progress(std::function<bool(std::uint64_t, std::uint64_t)> f)
    {
        auto progress = std::make_shared<detail::progress>();
        progress->function = std::move(f);
        holdall_options_set_progress(created(), progress->function ? detail::progress::call : nullptr, progress.get());
        from_ = std::move(progress);
    }

    std::shared_ptr<detail::callback> from_;
};

} // namespace holdall

#endif
