// holdall/checks.hpp - identify, verify and repair containers; checksums.
#ifndef HOLDALL_CHECKS_HPP
#define HOLDALL_CHECKS_HPP

#include "options.hpp"

namespace holdall {

// Format and kind of a container.
struct identity {
    holdall::format format;
    holdall::kind kind;
};
inline identity identify(const location &at)
{
    holdall_format f = 0;
    holdall_kind k = 0;
    detail::call(holdall_identify, at.path(), &f, &k);
    return {static_cast<format>(f), static_cast<kind>(k)};
}

// Result of verify(): numbers of intact, corrupt and unchecked records or chunks.
struct verify_result {
    std::uint64_t intact = 0, corrupt = 0, unchecked = 0;
    // The first fault; empty if there is none.
    std::optional<error> fault;
    explicit operator bool() const noexcept { return !fault; }
};

namespace detail {

template <class F> struct faults : callback {
    F *each;

    static int call(void *ctx, const char *part, const holdall_error *fault) noexcept
    {
        auto *self = static_cast<faults *>(ctx);
        try {
            return (*self->each)(std::string_view(part), error(*fault)) ? 0 : 1;
        } catch (...) {
            self->capture();
            return 1;
        }
    }
};

// Whether verify() failed before it could judge the container.
inline bool is_no_verdict(holdall_status status) noexcept
{
    return status == HOLDALL_E_CANCELLED || status == HOLDALL_E_ARGUMENT || status == HOLDALL_E_BUSY || status == HOLDALL_E_MEMORY ||
           status == HOLDALL_E_INTERNAL;
}

} // namespace detail

// Reads and verifies everything. Corruption is not an exception, but part of the result. Calls
// each(std::string_view part, const error &fault) for each fault. If it returns false, verification
// stops, and the result is that of what was read so far.
template <class F, std::enable_if_t<std::is_invocable_r_v<bool, F &, std::string_view, const error &>, int> = 0>
verify_result verify(const location &at, F &&each, const options &options = {})
{
    detail::faults<std::remove_reference_t<F>> faults;
    faults.each = &each;
    holdall_verify_result counts{};
    counts.struct_size = sizeof counts;
    holdall_error e;
    const holdall_status status = holdall_verify(at.path(), options.get(), decltype(faults)::call, &faults, &counts, &e);
    verify_result out{counts.intact, counts.corrupt, counts.unchecked, std::nullopt};
    if (status < 0) {
        faults.rethrow();
        if (detail::is_no_verdict(status))
            detail::fail(e, options.callback().get());
        out.fault.emplace(e);
    }
    return out;
}
inline verify_result verify(const location &at, const options &options = {})
{
    return verify(at, [](std::string_view, const error &) { return true; }, options);
}

// Repairs a container; options::dry_run() only reports what would be done.
inline holdall_repair_result repair(const location &at, const options &options = {})
{
    holdall_repair_result out{};
    out.struct_size = sizeof out;
    detail::call_for(options.callback().get(), holdall_repair, at.path(), options.get(), &out);
    return out;
}

// A checksum as bytes.
using checksum_bytes = std::vector<std::uint8_t>;
inline checksum_bytes checksum_compute(checksum kind, bytes content)
{
    return detail::sized<checksum_bytes>(holdall_checksum_compute, static_cast<std::int32_t>(kind), detail::some(content), content.size());
}

// Computes a checksum of bytes that are added piece by piece.
class incremental_checksum : public detail::owner<holdall_checksum, holdall_checksum_free> {
public:
    explicit incremental_checksum(checksum kind) { detail::call(holdall_checksum_new, static_cast<std::int32_t>(kind), put()); }
    incremental_checksum &update(bytes more)
    {
        detail::call(holdall_checksum_update, get(), detail::some(more), more.size());
        return *this;
    }
    checksum_bytes finish() { return detail::sized<checksum_bytes>(holdall_checksum_finish, get()); }
};

} // namespace holdall

#endif
