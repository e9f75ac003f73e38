// What the tests of holdall.hpp say what they expect with.
#ifndef EXPECT_HPP
#define EXPECT_HPP

#include <holdall.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#define EXPECT(...)                                                                                                    \
    do {                                                                                                               \
        if (!(__VA_ARGS__)) {                                                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__);                                           \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

// The failure that f() throws, which must be one of this status.
template <class F> holdall::error failure(holdall_status status, F f)
{
    try {
        f();
    } catch (const holdall::error &e) {
        if (e.status() == status)
            return e;
        std::fprintf(stderr, "%s (%s) in place of %s\n", e.what(), e.status_name(), holdall_status_name(status));
        std::exit(1);
    }
    std::fprintf(stderr, "no failure in place of %s\n", holdall_status_name(status));
    std::exit(1);
}

// A path in this test's own folder.
inline std::string scratch(const std::string &name) { return std::string(std::getenv("HOLDALL_TMP")) + "/" + name; }

#endif
