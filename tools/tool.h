/*
 * What every file of the tool knows: exit codes, and one function a command.
 *
 * The tool is a plain user of the library: it includes holdall.h and nothing else of it.
 */
#ifndef TOOL_H
#define TOOL_H

#include "args.h"
#include "holdall.h"

/* Exit codes, as the man page promises them. */
enum { DONE = 0, FAILED = 1, USAGE = 2, CHANGED = 3 };

/* Each runs one command and returns its exit code. Some are commands on bags, or on superchunks, only. */
int bag_info(const struct args *args);
int bag_cat(const struct args *args);
int bag_pack(const struct args *args);
int schunk_info(const struct args *args);
int schunk_cat(const struct args *args);
int schunk_pack(const struct args *args);
int dataset_info(const struct args *args);
int dataset_cat(const struct args *args);
/* info --files */
int dataset_files(const struct args *args);
int cmd_ls(const struct args *args);
int cmd_attr(const struct args *args);
int cmd_trim(const struct args *args);
/* append to a table */
int table_append(const struct args *args);
int cmd_append(const struct args *args);
int cmd_convert(const struct args *args);
int cmd_unpack(const struct args *args);
int cmd_index(const struct args *args);
int cmd_verify(const struct args *args);
int cmd_repair(const struct args *args);
int cmd_sum(const struct args *args);
int cmd_identify(const struct args *args);

#endif
