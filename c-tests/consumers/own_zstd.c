/* A program's own zstd: as little of it as shows whether the library's is mixed up with it. */
unsigned ZSTD_versionNumber(void);
unsigned ZSTD_versionNumber(void)
{
    return 424242;
}
