/* A program's own zstd: a minimum that shows whether the library calls it by mistake. */
unsigned ZSTD_versionNumber(void);
unsigned ZSTD_versionNumber(void)
{
    return 424242;
}
