/*
 * holdall: looks into, writes, checks and repairs chunked containers, from the command line.
 *
 * This file knows the commands and what they are called with; each is a function in a cmd_*.c. The man
 * page is holdall.1.
 */
#define _POSIX_C_SOURCE 200809L

#include "args.h"
#include "report.h"
#include "tool.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

static const struct command commands[] = {
    {"info", "PATH", "Tells what a bag is: records, compression, limits, checksums, bytes on disk.",
     F_READER | F_UNCHECKED | F_JSON | F_QUIET, 1, 1, cmd_info},
    {"cat", "PATH", "Prints records as they are, with nothing between them.",
     F_READER | F_UNCHECKED | F_RECORDS | F_SLICE | F_LENGTHS | F_SKIP_DAMAGED | F_QUIET, 1, 1, cmd_cat},
    {"pack", "LINES OUT", "Writes a bag, a record a line of a file (-: standard input). With --whole: FILE.. OUT.",
     F_SEPARATE | F_LIMITS | F_LEVEL | F_APPEND | F_REPLACE | F_COMPRESSION | F_DICTIONARY | F_NO_CHECKSUM |
         F_THREADS | F_NO_SYNC | F_NO_LOCK | F_WHOLE | F_QUIET,
     2, SIZE_MAX, cmd_pack},
    {"verify", "PATH..", "Reads everything and tells of each fault.", F_READER | F_QUIET, 1, SIZE_MAX, cmd_verify},
    {"repair", "PATH", "Brings a bag that was left torn back to its last whole state.",
     F_LIMITS | F_COMPRESSION | F_DICTIONARY | F_MEMORY_LIMIT | F_NO_SYNC | F_NO_LOCK | F_QUIET, 1, 1, cmd_repair},
    {"sum", "PATH..", "Prints a digest of the records, the same however they are stored.",
     F_READER | F_UNCHECKED | F_SUM | F_SLICE | F_QUIET, 1, SIZE_MAX, cmd_sum},
    {"identify", "PATH..", "Tells which format and kind of container a path is.", F_QUIET, 1, SIZE_MAX, cmd_identify},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_help(void) {
    put_text("usage: holdall COMMAND [flags] PATH..\n\n");
    for (size_t i = 0; i < COMMANDS; i++) put_text("  %-10s%s\n", commands[i].name, commands[i].purpose);
    put_text("\nA PATH may name several files: a@3.bagz,b.bag. holdall COMMAND --help lists the flags of a command;\n"
             "holdall --version tells the versions. Exit codes: 0 done, 1 failed or damaged, 2 wrong usage.\n");
    return put_end(DONE);
}

static int print_version(void) {
    put_text("holdall %s\n", holdall_version_text());
    return put_end(DONE);
}

static int run(const struct command *command, int argc, char **argv) {
    struct args args;
    int code = args_parse(command, argc, argv, &args);
    if (code < 0) code = command->run(&args);
    args_free(&args);
    return code;
}

/* A descriptor that is closed would be given to the first file that is opened, and what is printed would
 * go into that. It gets one that refuses instead. */
static void hold_standard_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

int main(int argc, char **argv) {
    hold_standard_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is seen as a failed write, and is no failure */
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_help();
    if (strcmp(name, "--version") == 0) return print_version();
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) return run(&commands[i], argc - 2, argv + 2);
    }
    if (argc < 2) {
        complain("no command given (holdall --help lists them)");
    } else {
        complain("unknown command '%s' (holdall --help lists them)", name);
    }
    return USAGE;
}
