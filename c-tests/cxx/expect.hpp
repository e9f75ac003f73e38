// Checks for the tests of holdall.hpp.
#ifndef EXPECT_HPP
#define EXPECT_HPP

#include <holdall.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#define EXPECT(...) \
    do { \
        if (!(__VA_ARGS__)) { \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
            std::exit(1); \
        } \
    } while (0)

// Returns the exception that f() throws, which must have this status.
template <class F> holdall::error failure(holdall_status status, F f)
{
    try {
        f();
    } catch (const holdall::error &e) {
        if (e.status() == status)
            return e;
        std::fprintf(stderr, "%s (%s) in place of %s\n", e.what(), e.status_name(),
                     holdall_status_name(status));
        std::exit(1);
    }
    std::fprintf(stderr, "no failure in place of %s\n", holdall_status_name(status));
    std::exit(1);
}

// Returns a path in the folder of this test.
inline std::string scratch(const std::string &name)
{
    return std::string(std::getenv("HOLDALL_TMP")) + "/" + name;
}

#endif
