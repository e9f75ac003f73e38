// holdall/storage.hpp - where containers are stored: a path, or custom storage.
#ifndef HOLDALL_STORAGE_HPP
#define HOLDALL_STORAGE_HPP

#include "core.hpp"

#include <cerrno>
#include <functional>
#include <new>
#include <system_error>

namespace holdall {

// Custom storage: the functions of holdall_io_functions as a class. A function that fails throws
// std::system_error (with std::errc::no_such_file_or_directory if there is no such file),
// std::bad_alloc, or any other exception, which is EIO. Several threads may call it at once if
// several threads use the handles.
class storage {
public:
    virtual ~storage() = default;
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

private:
    [[noreturn]] static void refuse() { throw std::system_error(std::make_error_code(std::errc::operation_not_supported)); }
};

namespace detail {

// The functions that the C library calls; ctx is a std::shared_ptr<storage> that it owns.
struct storage_functions {
    template <class F> static std::int64_t run(void *ctx, F f) noexcept
    {
        try {
            return static_cast<std::int64_t>(f(**static_cast<std::shared_ptr<storage> *>(ctx)));
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
        return run(ctx, [&](storage &s) { return s.size(name); });
    }
    static std::int64_t read_at(void *ctx, const char *name, std::uint64_t at, void *dst, std::size_t n)
    {
        return run(ctx, [&](storage &s) { return s.read_at(name, at, dst, n); });
    }
    static std::int64_t write_at(void *ctx, const char *name, std::uint64_t at, const void *src, std::size_t n)
    {
        return run(ctx, [&](storage &s) { return s.write_at(name, at, src, n), 0; });
    }
    static std::int64_t truncate(void *ctx, const char *name, std::uint64_t size)
    {
        return run(ctx, [&](storage &s) { return s.truncate(name, size), 0; });
    }
    static std::int64_t sync(void *ctx, const char *name)
    {
        return run(ctx, [&](storage &s) { return s.sync(name), 0; });
    }
    static std::int64_t rename(void *ctx, const char *from, const char *to)
    {
        return run(ctx, [&](storage &s) { return s.rename(from, to), 0; });
    }
    static std::int64_t remove(void *ctx, const char *name)
    {
        return run(ctx, [&](storage &s) { return s.remove(name), 0; });
    }
    static std::int64_t list(void *ctx, const char *folder, int (*each)(void *, const char *), void *arg)
    {
        return run(ctx, [&](storage &s) { return s.list(folder, [&](const char *name) { return each(arg, name) == 0; }), 0; });
    }
    static void destroy(void *ctx) { delete static_cast<std::shared_ptr<storage> *>(ctx); }
};

} // namespace detail

// Storage, which can be passed instead of a path. Handles that are opened from it stay valid after
// it is closed.
class io : public detail::owner<holdall_io, holdall_io_close> {
public:
    // Returns one file in memory. The memory must stay valid until every handle that was opened
    // from it is closed.
    static io from_memory(bytes file)
    {
        io out;
        detail::call(holdall_io_from_memory, detail::some(file), file.size(), out.put());
        return out;
    }
    // Creates custom storage, which is alive as long as a handle that was opened from it.
    explicit io(std::shared_ptr<storage> from)
    {
        holdall_io_functions f{};
        f.struct_size = sizeof f;
        f.size = detail::storage_functions::size;
        f.read_at = detail::storage_functions::read_at;
        f.list = detail::storage_functions::list;
        f.destroy = detail::storage_functions::destroy;
        if (from->writable()) {
            f.write_at = detail::storage_functions::write_at;
            f.truncate = detail::storage_functions::truncate;
            f.sync = detail::storage_functions::sync;
            f.rename = detail::storage_functions::rename;
            f.remove = detail::storage_functions::remove;
        }
        auto owned = std::make_unique<std::shared_ptr<storage>>(std::move(from));
        f.ctx = owned.get();
        detail::call(holdall_io_from_functions, &f, put());
        owned.release(); // destroy() deletes it
    }

private:
    io() = default;
};

// The location of a container: a path (char *, std::string, std::filesystem::path), or an io.
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
    location(holdall::io &in) noexcept : io_(in.get()) {}
    location(holdall::io &&in) noexcept : io_(in.get()) {}

    const char *path() const noexcept { return path_.c_str(); }
    holdall_io *io() const noexcept { return io_; }

private:
    template <class S> static std::string utf8(const S &s) { return std::string(s.begin(), s.end()); }

    std::string path_;
    holdall_io *io_ = nullptr;
};
using place = location; // the name in 0.1.0

} // namespace holdall

#endif
