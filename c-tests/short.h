/* Short forms of the functions that take structures or options, for one line in a test. */
#ifndef SHORT_H
#define SHORT_H

#include <holdall.h>
#include <stddef.h>

/* ---- creating ---------------------------------------------------------------------------------*/

static inline holdall_array_spec array_spec(holdall_format format, const char *dtype, uint32_t ndim,
                                            const uint64_t *shape, const uint64_t *chunk_shape,
                                            const uint64_t *block_shape)
{
    holdall_array_spec spec = {.struct_size = sizeof spec,
                               .format = format,
                               .dtype = dtype,
                               .ndim = ndim,
                               .shape = shape,
                               .chunk_shape = chunk_shape,
                               .block_shape = block_shape};
    return spec;
}

static inline holdall_status array_create(const char *path, holdall_mode mode,
                                          holdall_format format, const char *dtype, uint32_t ndim,
                                          const uint64_t *shape, const uint64_t *chunk_shape,
                                          const uint64_t *block_shape,
                                          const holdall_options *options, holdall_array **out,
                                          holdall_error *e)
{
    holdall_array_spec spec = array_spec(format, dtype, ndim, shape, chunk_shape, block_shape);
    return holdall_array_create(path, mode, &spec, options, out, e);
}

static inline holdall_status array_copy(const holdall_array *array, const char *path,
                                        holdall_mode mode, holdall_format format,
                                        const uint64_t *chunk_shape, const uint64_t *block_shape,
                                        const holdall_options *options, holdall_error *e)
{
    holdall_array_spec spec =
        array_spec(format, NULL, holdall_array_ndim(array), NULL, chunk_shape, block_shape);
    return holdall_array_copy(array, path, mode, &spec, options, e);
}

static inline holdall_status table_create(const char *path, holdall_mode mode,
                                          holdall_format format, uint32_t columns,
                                          const char *const *names, const char *const *dtypes,
                                          const holdall_options *options, holdall_table **out,
                                          holdall_error *e)
{
    holdall_table_spec spec = {.struct_size = sizeof spec,
                               .format = format,
                               .column_count = columns,
                               .names = names,
                               .dtypes = dtypes};
    return holdall_table_create(path, mode, &spec, options, out, e);
}

/* ---- storage of the test: the option is set for one call --------------------------------------*/

static inline holdall_options *storage_begin(const holdall_options *options,
                                             holdall_storage *const *storages, uint32_t count,
                                             holdall_status *status, holdall_error *e)
{
    holdall_options *mine = options != NULL ? (holdall_options *)(uintptr_t)options
                                            : holdall_options_new();
    *status = holdall_options_set_storage(mine, storages, count, e);
    return mine;
}

static inline holdall_status storage_end(const holdall_options *options, holdall_options *mine,
                                         holdall_status status)
{
    if (options == NULL)
        holdall_options_free(mine);
    else if (holdall_options_set_storage(mine, NULL, 0, NULL) < 0)
        return HOLDALL_E_INTERNAL;
    return status;
}

/* Runs `call` with options `mine` that hold this storage. Sets *out to NULL if the storage is
 * refused. */
#define IN_STORAGES(storages, count, call) \
    holdall_status status; \
    holdall_options *mine = storage_begin(options, storages, count, &status, e); \
    if (status < 0) \
        *out = NULL; \
    else \
        status = (call); \
    return storage_end(options, mine, status)
#define IN_STORAGE(call) IN_STORAGES(&storage, 1, call)

static inline holdall_status schunk_open_io(holdall_storage *storage, holdall_mode mode,
                                            const holdall_options *options, holdall_schunk **out,
                                            holdall_error *e)
{
    IN_STORAGE(holdall_schunk_open(NULL, mode, mine, out, e));
}

static inline holdall_status schunk_create_io(holdall_storage *storage, holdall_mode mode,
                                              holdall_format format, size_t typesize,
                                              const holdall_options *options, holdall_schunk **out,
                                              holdall_error *e)
{
    IN_STORAGE(holdall_schunk_create(NULL, mode, format, typesize, mine, out, e));
}

static inline holdall_status array_open_io(holdall_storage *storage, holdall_mode mode,
                                           const holdall_options *options, holdall_array **out,
                                           holdall_error *e)
{
    IN_STORAGE(holdall_array_open(NULL, mode, mine, out, e));
}

static inline holdall_status
array_create_io(holdall_storage *storage, holdall_mode mode, holdall_format format,
                const char *dtype, uint32_t ndim, const uint64_t *shape,
                const uint64_t *chunk_shape, const uint64_t *block_shape,
                const holdall_options *options, holdall_array **out, holdall_error *e)
{
    IN_STORAGE(array_create(NULL, mode, format, dtype, ndim, shape, chunk_shape, block_shape, mine,
                            out, e));
}

static inline holdall_status table_open_io(holdall_storage *storage, holdall_mode mode,
                                           const holdall_options *options, holdall_table **out,
                                           holdall_error *e)
{
    IN_STORAGE(holdall_table_open(NULL, mode, mine, out, e));
}

static inline holdall_status table_create_io(holdall_storage *storage, holdall_mode mode,
                                             holdall_format format, uint32_t columns,
                                             const char *const *names, const char *const *dtypes,
                                             const holdall_options *options, holdall_table **out,
                                             holdall_error *e)
{
    IN_STORAGE(table_create(NULL, mode, format, columns, names, dtypes, mine, out, e));
}

static inline holdall_status bag_open_io(holdall_storage *const *storages, uint32_t count,
                                         const holdall_options *options, holdall_bag **out,
                                         holdall_error *e)
{
    IN_STORAGES(storages, count, holdall_bag_open(NULL, mine, out, e));
}

static inline holdall_status bag_writer_open_io(holdall_storage *storage, holdall_mode mode,
                                                const holdall_options *options,
                                                holdall_bag_writer **out, holdall_error *e)
{
    IN_STORAGE(holdall_bag_writer_open(NULL, mode, mine, out, e));
}

static inline holdall_status bag_index_create_io(holdall_storage *storage, holdall_mode mode,
                                                 const holdall_bag *keys,
                                                 const holdall_options *options,
                                                 holdall_bag_index **out, holdall_error *e)
{
    IN_STORAGE(holdall_bag_index_create(NULL, mode, keys, mine, out, e));
}

static inline holdall_status bag_index_open_io(holdall_storage *storage, const holdall_bag *keys,
                                               const holdall_options *options,
                                               holdall_bag_index **out, holdall_error *e)
{
    IN_STORAGE(holdall_bag_index_open(NULL, keys, mine, out, e));
}

/* ---- results as numbers; unchanged if the call stores none ------------------------------------*/

static inline holdall_status verify_counts(const char *path, const holdall_options *options,
                                           holdall_fault_fn fault, void *ctx, uint64_t *intact,
                                           uint64_t *corrupt, uint64_t *unchecked, holdall_error *e)
{
    holdall_verify_result result = {.struct_size = sizeof result,
                                    .intact = intact ? *intact : 0,
                                    .corrupt = corrupt ? *corrupt : 0,
                                    .unchecked = unchecked ? *unchecked : 0};
    holdall_status status = holdall_verify(path, options, fault, ctx, &result, e);
    if (intact != NULL)
        *intact = result.intact;
    if (corrupt != NULL)
        *corrupt = result.corrupt;
    if (unchecked != NULL)
        *unchecked = result.unchecked;
    return status;
}

static inline holdall_status repair_counts(const char *path, const holdall_options *options,
                                           uint64_t *retained, uint64_t *lost, holdall_error *e)
{
    holdall_repair_result result = {.struct_size = sizeof result,
                                    .retained = retained ? *retained : 0,
                                    .lost = lost ? *lost : 0};
    holdall_status status = holdall_repair(path, options, &result, e);
    if (retained != NULL)
        *retained = result.retained;
    if (lost != NULL)
        *lost = result.lost;
    return status;
}

static inline holdall_status chunk_info(const holdall_schunk *schunk, uint64_t chunk,
                                        size_t *nbytes, size_t *stored_bytes, int32_t *codec,
                                        holdall_error *e)
{
    holdall_chunk_info info = {.struct_size = sizeof info,
                               .nbytes = nbytes ? *nbytes : 0,
                               .stored_bytes = stored_bytes ? *stored_bytes : 0,
                               .codec = codec ? *codec : 0};
    holdall_status status = holdall_schunk_get_chunk_info(schunk, chunk, &info, e);
    if (nbytes != NULL)
        *nbytes = info.nbytes;
    if (stored_bytes != NULL)
        *stored_bytes = info.stored_bytes;
    if (codec != NULL)
        *codec = info.codec;
    return status;
}

/* ---- information; zeros if the call fails -----------------------------------------------------*/

#define INFO(kind) \
    static inline holdall_##kind##_info kind##_info(const holdall_##kind *handle) \
    { \
        holdall_##kind##_info info = {.struct_size = sizeof info}; \
        if (holdall_##kind##_get_info(handle, &info, NULL) < 0) \
            return (holdall_##kind##_info){0}; \
        return info; \
    }
INFO(schunk)
INFO(array)
INFO(table)
INFO(bag)

#endif
