/* Leaks handles on purpose and returns 0: valgrind and the address sanitizer must report it. */
#include <holdall.h>

int main(void)
{
    /* Several, so that a copy of one pointer left in a register cannot hide the leak. */
    for (int i = 0; i < 100; i++) {
        holdall_options *lost = holdall_options_new();
        if (lost == NULL)
            return 1;
    }
    return 0;
}
