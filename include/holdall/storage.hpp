// holdall/storage.hpp - where the bytes live: a path, or storage of the caller's.
#ifndef HOLDALL_STORAGE_HPP
#define HOLDALL_STORAGE_HPP

#include "core.hpp"

#include <cerrno>
#include <functional>
#include <new>
#include <system_error>

namespace holdall {

// The caller's storage: what holdall_io_functions asks for, as a class. A function that fails throws: std::system_error, with
// std::errc::no_such_file_or_directory where there is no such file, std::bad_alloc, or anything else, which is EIO.
// It may be called by several threads at once if several use the handles.
class storage {
public:
    virtual ~storage() = default;
    virtual std::uint64_t size(const char *name) = 0;
    // Reads n bytes from `at` on, fewer only at the end of the file; returns how many.
    virtual std::size_t read_at(const char *name, std::uint64_t at, void *dst, std::size_t n) = 0;

    // Only storage that says so is written to.
    virtual bool writable() const { return false; }
    virtual void write_at(const char *, std::uint64_t, const void *, std::size_t) { refuse(); }
    virtual void truncate(const char *, std::uint64_t) { refuse(); }
    virtual void sync(const char *) { refuse(); }
    virtual void rename(const char *, const char *) { refuse(); }
    virtual void remove(const char *) { refuse(); }
    // Gives `each` the name of each file in a folder, until it returns false.
    virtual void list(const char *, const std::function<bool(const char *)> &) { refuse(); }

private:
    [[noreturn]] static void refuse() { throw std::system_error(std::make_error_code(std::errc::operation_not_supported)); }
};

namespace detail {

// The functions that C calls; ctx is a std::shared_ptr<storage> of theirs.
struct stored {
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

// A place where bytes live, to be given where a path may be. What is opened from it lives on without it.
class io : public detail::owner<holdall_io, holdall_io_close> {
public:
    // One file that is in memory, borrowed until all that was opened from it is closed.
    static io from_memory(bytes file)
    {
        io out;
        detail::call(holdall_io_from_memory, detail::some(file), file.size(), out.put());
        return out;
    }
    // Storage of the caller's, which is kept as long as something was opened from it.
    explicit io(std::shared_ptr<storage> from)
    {
        holdall_io_functions f{};
        f.struct_size = sizeof f;
        f.size = detail::stored::size;
        f.read_at = detail::stored::read_at;
        f.list = detail::stored::list;
        f.destroy = detail::stored::destroy;
        if (from->writable()) {
            f.write_at = detail::stored::write_at;
            f.truncate = detail::stored::truncate;
            f.sync = detail::stored::sync;
            f.rename = detail::stored::rename;
            f.remove = detail::stored::remove;
        }
        auto kept = std::make_unique<std::shared_ptr<storage>>(std::move(from));
        f.ctx = kept.get();
        detail::call(holdall_io_from_functions, &f, put());
        kept.release(); // destroy() has it now
    }

private:
    io() = default;
};

// Where a container is: a path (char *, std::string, std::filesystem::path), or an io.
class place {
public:
    place(std::string path) : path_(std::move(path))
    {
        if (path_.find('\0') != std::string::npos)
            throw error(HOLDALL_E_ARGUMENT, "a path with a NUL in it");
    }
    place(const char *path) : place(std::string(path)) {}
    // std::filesystem::path, whose header nobody needs for the others.
    template <class P, class = decltype(std::declval<const P &>().u8string()), class = decltype(std::declval<const P &>().native())>
    place(const P &path) : place(utf8(path.u8string())) {}
    place(holdall::io &in) noexcept : io_(in.get()) {}
    place(holdall::io &&in) noexcept : io_(in.get()) {}

    const char *path() const noexcept { return path_.c_str(); }
    holdall_io *io() const noexcept { return io_; }

private:
    template <class S> static std::string utf8(const S &s) { return std::string(s.begin(), s.end()); }

    std::string path_;
    holdall_io *io_ = nullptr;
};

} // namespace holdall

#endif
