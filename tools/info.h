/* Infos of open handles, returned by value. */
#ifndef INFO_H
#define INFO_H

#include <holdall.h>

/* Zeros if the library reports an error, which it does not for an open handle. */
#define INFO(kind) \
    static inline holdall_##kind##_info info_of_##kind(const holdall_##kind *handle) { \
        holdall_##kind##_info info = {.struct_size = sizeof info}; \
        if (holdall_##kind##_get_info(handle, &info, NULL) < 0) return (holdall_##kind##_info){.struct_size = 0}; \
        return info; \
    }
INFO(array)
INFO(schunk)
INFO(bag)

#endif
