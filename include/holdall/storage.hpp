// holdall/storage.hpp - the location of a container: a path, or storage of the caller.
#ifndef HOLDALL_STORAGE_HPP
#define HOLDALL_STORAGE_HPP

#include "core.hpp"

#include <cerrno>
#include <functional>
#include <new>
#include <system_error>

namespace holdall {

// The functions of holdall_storage_functions as a class. A function that fails throws
// std::system_error (with std::errc::no_such_file_or_directory if there is no such file),
// std::bad_alloc, or any other exception, which is EIO. Several threads may call it at once if
// several threads use the handles.
class storage_functions {
public:
    virtual ~storage_functions() = default;
    virtual std::uint64_t size(const char *name) = 0;
    // Reads n bytes from offset `at` on, fewer only at the end of the file. Returns the number of
    // bytes read.
    virtual std::size_t read_at(const char *name, std::uint64_t at, void *dst, std::size_t n) = 0;

    // Whether the storage can be written to.
    virtual bool writable() const { return false; }
    virtual void write_at(const char *, std::uint64_t, const void *, std::size_t) { refuse(); }
    virtual void truncate(const char *, std::uint64_t) { refuse(); }
    virtual void sync(const char *) { refuse(); }
    virtual void rename(const char *, const char *) { refuse(); }
    virtual void remove(const char *) { refuse(); }
    // Calls `each` with the name of each file in a folder, until it returns false.
    virtual void list(const char *, const std::function<bool(const char *)> &) { refuse(); }

    // Whether read_ranges() is there: for storage in which each call takes long.
    virtual bool reads_ranges() const { return false; }
    // Reads ranges, at once or one by one, and sets the size of each, or -errno.
    virtual void read_ranges(holdall_storage_range *, std::size_t) { refuse(); }

private:
    [[noreturn]] static void refuse() { throw std::system_error(std::make_error_code(std::errc::operation_not_supported)); }
};

namespace detail {

// The functions that the C library calls; ctx is a std::shared_ptr<storage_functions> that it owns.
struct storage_table {
    template <class F> static std::int64_t run(void *ctx, F f) noexcept
    {
        try {
            return static_cast<std::int64_t>(f(**static_cast<std::shared_ptr<storage_functions> *>(ctx)));
        } catch (const std::system_error &e) {
            const int code = e.code().default_error_condition().value();
            return code > 0 ? -code : -EIO;
        } catch (const std::bad_alloc &) {
            return -ENOMEM;
        } catch (...) {
            return -EIO;
        }
    }
    static std::int64_t size(void *ctx, const char *name)
    {
        return run(ctx, [&](storage_functions &s) { return s.size(name); });
    }
    static std::int64_t read_at(void *ctx, const char *name, std::uint64_t at, void *dst, std::size_t n)
    {
        return run(ctx, [&](storage_functions &s) { return s.read_at(name, at, dst, n); });
    }
    static std::int64_t write_at(void *ctx, const char *name, std::uint64_t at, const void *src, std::size_t n)
    {
        return run(ctx, [&](storage_functions &s) { return s.write_at(name, at, src, n), 0; });
    }
    static std::int64_t truncate(void *ctx, const char *name, std::uint64_t size)
    {
        return run(ctx, [&](storage_functions &s) { return s.truncate(name, size), 0; });
    }
    static std::int64_t sync(void *ctx, const char *name)
    {
        return run(ctx, [&](storage_functions &s) { return s.sync(name), 0; });
    }
    static std::int64_t rename(void *ctx, const char *from, const char *to)
    {
        return run(ctx, [&](storage_functions &s) { return s.rename(from, to), 0; });
    }
    static std::int64_t remove(void *ctx, const char *name)
    {
        return run(ctx, [&](storage_functions &s) { return s.remove(name), 0; });
    }
    static std::int64_t list(void *ctx, const char *folder, int (*each)(void *, const char *), void *arg)
    {
        return run(ctx, [&](storage_functions &s) { return s.list(folder, [&](const char *name) { return each(arg, name) == 0; }), 0; });
    }
    static std::int64_t read_ranges(void *ctx, holdall_storage_range *ranges, std::size_t n)
    {
        return run(ctx, [&](storage_functions &s) { return s.read_ranges(ranges, n), 0; });
    }
    static void destroy(void *ctx) { delete static_cast<std::shared_ptr<storage_functions> *>(ctx); }
};

} // namespace detail

// Storage that replaces a path: set it with options::storage(), and open the container with the
// path "". Handles that are opened from it stay valid after it is freed.
class storage : public detail::owner<holdall_storage, holdall_storage_free> {
public:
    // Returns a read-only storage with one file. The memory must stay valid until every handle that
    // was opened from it is closed.
    static storage from_memory(bytes file)
    {
        storage out;
        detail::call(holdall_storage_from_memory, detail::some(file), file.size(), out.put());
        return out;
    }
    // Creates storage in memory that can be written.
    static storage new_memory()
    {
        storage out;
        detail::call(holdall_storage_new_memory, out.put());
        return out;
    }
    // Returns a file of new_memory() without a copy: the frame if the name is "". The bytes are
    // valid until the next call with this name, or the destruction of this object.
    bytes file(const std::string &name = "")
    {
        const void *data;
        std::size_t size;
        detail::call(holdall_storage_get_file, get(), name.c_str(), &data, &size);
        return bytes(data, size);
    }
    // Puts a file into new_memory(), which copies the bytes.
    void put_file(const std::string &name, bytes content)
    {
        detail::call(holdall_storage_put_file, get(), name.c_str(), detail::some(content), content.size());
    }
    // Returns the names of the files of new_memory().
    std::vector<std::string> files()
    {
        std::vector<std::string> names(holdall_storage_file_count(get()));
        for (std::size_t i = 0; i < names.size(); i++)
            names[i] = holdall_storage_file_name(get(), i);
        return names;
    }
    // Creates storage from functions, which are alive as long as a handle that was opened from it.
    explicit storage(std::shared_ptr<storage_functions> from)
    {
        using table = detail::storage_table;
        holdall_storage_functions f{};
        f.struct_size = sizeof f;
        f.size = table::size;
        f.read_at = table::read_at;
        f.list = table::list;
        f.destroy = table::destroy;
        if (from->writable()) {
            f.write_at = table::write_at;
            f.truncate = table::truncate;
            f.sync = table::sync;
            f.rename = table::rename;
            f.remove = table::remove;
        }
        if (from->reads_ranges())
            f.read_ranges = table::read_ranges;
        auto owned = std::make_unique<std::shared_ptr<storage_functions>>(std::move(from));
        f.ctx = owned.get();
        detail::call(holdall_storage_from_functions, &f, put());
        owned.release(); // destroy() deletes it
    }
    // Takes ownership of a C handle.
    using owner::owner;

private:
    storage() = default;
};

// The path of a container: char *, std::string, std::filesystem::path. "": the storage of the
// options.
class location {
public:
    location(std::string path) : path_(std::move(path))
    {
        if (path_.find('\0') != std::string::npos)
            throw error(HOLDALL_E_ARGUMENT, "a path with a NUL in it");
    }
    location(const char *path) : location(std::string(path)) {}
    // std::filesystem::path, without including its header.
    template <class P, class = decltype(std::declval<const P &>().u8string()), class = decltype(std::declval<const P &>().native())>
    location(const P &path) : location(utf8(path.u8string())) {}

    const char *path() const noexcept { return path_.c_str(); }

private:
    template <class S> static std::string utf8(const S &s) { return std::string(s.begin(), s.end()); }

    std::string path_;
};

} // namespace holdall

#endif
