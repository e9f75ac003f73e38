/*
 * holdall identify: what is it?
 */
#include "report.h"
#include "tool.h"
#include "identify.h"

static int identify(const char *path) {
    holdall_format format;
    holdall_kind kind;
    holdall_error error;
    if (holdall_identify(path, &format, &kind, &error) < 0) {
        complain_error(path, &error, "");
        return FAILED;
    }
    put_printable(path);
    put_text(": %s %s\n", format_name(format), kind_name(kind));
    return DONE;
}

int cmd_identify(const struct args *args) {
    int code = DONE;
    for (size_t i = 0; i < args->operand_count; i++) {
        if (identify(args->operands[i]) != DONE) code = FAILED;
    }
    return put_end(code);
}
