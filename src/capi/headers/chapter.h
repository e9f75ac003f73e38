/* holdall/@NAME@.h - @TITLE@. */
/* Generated from src/capi/; do not edit. */
#ifndef @GUARD@
#define @GUARD@

@INCLUDES@

#ifdef __cplusplus
extern "C" {
#endif

@ITEMS@

#ifdef __cplusplus
}
#endif

#endif /* @GUARD@ */
