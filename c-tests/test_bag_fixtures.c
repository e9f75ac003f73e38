/* Files that the Bagz package wrote (fixtures: bagz): every record, in order and backwards, is read
 * as written. */
#include "check.h"

enum { TAIL = HOLDALL_BAG_LIMITS_TAIL, APART = HOLDALL_BAG_LIMITS_SEPARATE };
enum { ROW = HOLDALL_BAG_SHARDS_CONCATENATED, TURNS = HOLDALL_BAG_SHARDS_INTERLEAVED };

#define DICTIONARY "{\"user\":1,\"name\":\"abc\",\"email\":\"abc1@example.com\"}"

/* From manifest.json in that folder: SHA-256 over every record, its length as 8 bytes and then its
 * bytes; in order and backwards. */
static const struct {
    const char *spec;
    int limits, shards_are;
    int64_t codec;
    const char *dictionary;
    uint32_t shards;
    uint64_t n, bytes;
    const char *digest, *backwards;
} files[] = {
    {"tail_none.bag", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 100, 12100,
     "6366b564bb7218a715285f70e430e252e73a0550fedd05e8dce371e025a10c65",
     "e0d546a1ee18511359b3bf48ca39de314edbb516739358c0dca373a0fa731309"},
    {"tail_zstd_default.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 100, 11301,
     "81a828c2da1dc398373f550ab253287bee40c30643d6c221e5aa4febc7292592",
     "8c9b9034f14c1ff572448a7f8e4d93bd78021dc482dadd433e3b5f61a22481fb"},
    {"sep_none.bag", APART, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 80, 9032,
     "752fb1ecaf8b32515eb3c27129398d097a3c1cf8c7c79efd504c0ae11f1a9053",
     "cb90bf5d8ef0272561e531e316f3cd6c61ca257898952b9a65b6fbe9d9ecc414"},
    {"sep_zstd_l3.bagz", APART, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 80, 9923,
     "e0b21228178c62a725952396b4aa698ac428c0dadc7e38a12c840469d31e8347",
     "0cf646c70bc02f9c26a995820b2a3f5173915b42cd2154913def0a0b69817a1a"},
    {"tail_zstd_lm5.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 60, 52022,
     "943980086c2f4b498831b408f58928d4c4ff539163cab22f759f24678073067f",
     "6ea3b248c183a466708d58d6fd2f72e821a2a05845b7bbffdb1bd5ba2fbfde4d"},
    {"tail_zstd_l19.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 60, 34860,
     "5073c8f3d0ae4845c9ac687cb44f56d1d3757a00a6183ed600dd455db07df0f5",
     "04b6e970eca5bf03f221ff20fe7278c6c87f29eeb2fcfb38d2c701931082f55b"},
    {"zero_records_tail.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 0, 0,
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"zero_records_sep.bag", APART, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 0, 0,
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"all_empty_tail_zstd.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 7, 0,
     "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb",
     "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
    {"edges_empty.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 7, 3,
     "ebba793855f5897a5592fb3dc647b27f6fa9c6d2dbac11e2751ca36fc05d13f8",
     "e78bcb1029c895f8903619ed0c603488084f8fc4c669d9081c999b6f0f38dc8c"},
    {"shards_cat_zstd/c@4.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 4, 17, 1552,
     "b3d7684c14ebe850ad75fa6dcb2b8f5eb520b11e3bdd15b6a0d4d08e8c5ef408",
     "d5f7208fde178f856a79d21ca61fe9a446bb292cd53435d24f6c548525f209be"},
    {"shards_cat_sep_none/c@5.bag", APART, ROW, HOLDALL_CODEC_BY_NAME, NULL, 5, 12, 1201,
     "01585ccbecf02d87e9db054906f707b1bf1066bcb05687732b08dddc44911744",
     "14ce14ea3193e26ecbee7b9fc9cce3768d58a4342e81d6e7f002c44e46f498ce"},
    {"shards_int_zstd/i@3.bagz", TAIL, TURNS, HOLDALL_CODEC_BY_NAME, NULL, 3, 17, 1746,
     "3db0b49223ab54a1c1406962b585f90bdf6238d401cb9c480841c8710e9989f0",
     "8f3995aa4e4f82676730c3d76358ea0c1883c760db5338697164620a1b43dd67"},
    {"shards_int_sep_none/i@4.bag", APART, TURNS, HOLDALL_CODEC_BY_NAME, NULL, 4, 13, 918,
     "a20f541a3f247dccaf55a0aecc5624e34d5edb6bc50241124bc772d48dcfbefe",
     "3818a8dfbc9dd18465dbe881a926f6acaa5f6dff6b05bff2c99f20b9e428749f"},
    {"huge_zstd.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 1, 5000000,
     "5c67ca4fd8c582506943049e10b1b4f8e182ac11bfdcd31f3d70a9e48b70a675",
     "5c67ca4fd8c582506943049e10b1b4f8e182ac11bfdcd31f3d70a9e48b70a675"},
    {"many_none.bag", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 70000, 537780,
     "2653432a68d7243c6f4ee83101233ccbcecf4625be6dfc7874d7b481ebe56f26",
     "81a1dc25dfba307e9c6d1b927057a96693fcb5f1b09edd9525260997c3cbe1c9"},
    {"dups_multiindex.bag", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 500, 5280,
     "8d686951989b3b2c44d254cf3f6f03df06bc95273e60ca6abeb28da7e68ab930",
     "540dbd008627d253e31759adb2704051cfa7e24c66eaab3d9ca2386db82887d8"},
    {"binary_zstd.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 258, 33153,
     "f78b95280e4d2f8298a2513c629854eaa31a92a1ad732a1edf50f1d56725ef53",
     "d8d84eebf25a7f4a40c2065814378d9f27117183d827e80c554e869d59cdb368"},
    {"none_in_bagz.bagz", TAIL, ROW, HOLDALL_CODEC_NONE, NULL, 1, 20, 2293,
     "d6bde5f6172b937fbefb6989a714876832d1f43bc594bc9ee957d1c306b032c1",
     "b516338e30fb09b599ecae42a1af7e2d4d9881e35b807cb22c44177e2e3e121c"},
    {"dict_zstd.bagz", TAIL, ROW, HOLDALL_CODEC_ZSTD, DICTIONARY, 1, 40, 2060,
     "51bf6373f24f2deae29217393d60eff5e1f61d6847bed2b26c5358700be05ce8",
     "6d8594d9626606274e6caa304e1180a1777490cadbeae85fe72f858a6a317851"},
    {"comma/a.bagz,comma/b@2.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 3, 11, 1238,
     "baa50c1a33e60fed2d02c02e8bf367a7eabc4af3768c68072d0368c3899f8068",
     "7361e5a9d99a1ed063c52f0c62bef951c7a761e77641322015f1149df30ac94f"},
    {"star/s@*.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 3, 9, 987,
     "e403ad9a2521dfc1ea0ed8848eb2a395e18134e9d2d0bc87a804c3227b52fb7c",
     "02ae1aa1654af78fe06558b9f0e7645a1bea44de85308e5d424cb921280e1dd4"},
    {"foreign_frames.bagz", TAIL, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 4, 304003,
     "a13b51931c6bd9cca0619834700465e899d9e76b8214cb251dc8ac84c243a02d",
     "7dc640351085f42432c6e455532d918da52ee9ca4f0915387cce01631df2b6c9"},
    {"unclosed.bagz", APART, ROW, HOLDALL_CODEC_BY_NAME, NULL, 1, 11, 771,
     "a05818af4320412154e11033fa518e1f5bf83d201496ba1baf86bc7c4964d707",
     "c0283190b4c373cd1032e4564bbac1b6b11f28b5891512455c0390d31e08ec01"},
};

static void check_digest(const holdall_bag *bag, const char *want)
{
    uint8_t digest[32];
    char hex[2 * sizeof digest + 1];
    size_t n = 0;
    OK(holdall_bag_checksum(bag, HOLDALL_CHECKSUM_SHA256, digest, sizeof digest, &n, &err));
    EQUAL(n, sizeof digest);
    for (size_t i = 0; i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    CHECK(strcmp(hex, want) == 0);
}

int main(void)
{
    const char *folder = fixtures("bagz");
    if (folder == NULL)
        return 0;
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        if (slow() && files[f].bytes > 400000)
            continue;
        for (int way = 0; way < 4; way++) {
            now("%s, way %d", files[f].spec, way);
            char spec[4096];
            const char *comma = strchr(files[f].spec, ',');
            if (comma == NULL)
                snprintf(spec, sizeof spec, "%s/%s", folder, files[f].spec);
            else
                snprintf(spec, sizeof spec, "%s/%.*s,%s/%s", folder, (int)(comma - files[f].spec),
                         files[f].spec, folder, comma + 1);
            FILE *there = files[f].bytes > 400000 ? fopen(spec, "rb") : stdin;
            if (there == NULL)
                continue; /* the large files are not in the source distribution */
            if (there != stdin)
                fclose(there);
            holdall_options *o = options_of(
                WITH(HOLDALL_OPT_BAG_LIMITS, files[f].limits, HOLDALL_OPT_BAG_SHARDS,
                     files[f].shards_are, HOLDALL_OPT_CODEC, files[f].codec, HOLDALL_OPT_IO,
                     IO(way % 2), HOLDALL_OPT_BAG_LIMITS_CACHE, way / 2));
            if (files[f].dictionary != NULL)
                OK(holdall_options_set_bytes(o, HOLDALL_OPT_DICTIONARY, files[f].dictionary,
                                             strlen(files[f].dictionary), &err));
            holdall_bag *bag, *backwards;
            OK(holdall_bag_open(spec, o, &bag, &err));
            EQUAL(holdall_bag_record_count(bag), files[f].n);
            EQUAL(holdall_bag_shard_count(bag), files[f].shards);
            EQUAL(bag_info(bag).limits, files[f].limits);
            check_digest(bag, files[f].digest);
            OK(holdall_bag_slice(bag, files[f].n ? files[f].n - 1 : 0, files[f].n, -1, &backwards,
                                 &err));
            check_digest(backwards, files[f].backwards);
            holdall_records *all;
            OK(holdall_bag_read_range(bag, 0, files[f].n, &all, &err));
            EQUAL(holdall_records_offsets(all)[files[f].n], files[f].bytes);
            holdall_records_free(all);
            holdall_bag_close(bag);
            holdall_bag_close(backwards);
            if (way == 0 && files[f].shards_are == ROW) {
                uint64_t corrupt = 9;
                OK(verify_counts(spec, o, NULL, NULL, NULL, &corrupt, NULL, &err));
                EQUAL(corrupt, 0);
            }
            holdall_options_free(o);
        }
    }
    return 0;
}
