/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The shared-buffer interface of Huawei's CANN runtime (aclrtAllocBuf and ten more), working on any Linux host.
 *
 * A program that was written to it includes this header in place of the vendor's and links with libmbuf, or is started as
 * it is with LD_PRELOAD=libmbuf.so. docs/acl.md says what each function does, in which order errors are looked for, and
 * where the vendor's page and code differ from it.
 *
 * A handle is the address of a buffer's header. Calls on buffers of different chains may run at once on any threads, and
 * so may calls on one chain that only read it, aclrtCopyBufRef among them. A call that fails changes nothing and writes no
 * output.
 *
 * C99, C11, C++11 or later.
 */
#ifndef ACL_MBUF_H
#define ACL_MBUF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer, by its header's address. */
typedef void *aclrtMbuf;

/* What a call returns: one of the codes below. */
typedef int aclError;

/* Values are the vendor's. */
enum {
    ACL_SUCCESS = 0,
    /* A null pointer; a size, an offset or an index out of range. */
    ACL_ERROR_INVALID_PARAM = 100000,
    /* A handle that is no live buffer of ours, or one that is not in the role asked for. */
    ACL_ERROR_RT_PARAM_INVALID = 107000,
    /* The pool is exhausted, or the system gives no memory. */
    ACL_ERROR_RT_MEMORY_ALLOCATION = 207001,
    /* A chain would have more than 128 buffers. */
    ACL_ERROR_RT_OVER_LIMIT = 207012
};

/* A new buffer for `size` bytes of data, from 1 to 4 GiB (4294967296): data length 0, user area all zero, alone in its chain.
 * What the data holds is unspecified. */
aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size);

/* Frees the chain that `buf` heads. Data that copies refer to stays until the last of them is freed. */
aclError aclrtFreeBuf(aclrtMbuf buf);

/* Sets the number of bytes of data that are valid: from 0 to the size. */
aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len);

/* The number of bytes of data that are valid: 0 until it is set. */
aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len);

/* Where the data is, and how large it is: the size asked for, not the data length. */
aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size);

/* Copies `size` bytes into the 96 bytes of user area, from `offset` on. */
aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset);

/* Copies `size` bytes out of the user area, from `offset` on. */
aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset);

/* New buffers on the same data, for every one from `buf` to the end of its chain, chained likewise. Data length and user area are
 * copied, and independent from then on. */
aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf);

/* Appends `buf`, with all that it heads, to the chain of `headBuf`, which owns it from then on. At most 128 buffers in all. */
aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf);

/* The number of buffers in the chain that `headBuf` heads: 1 for a buffer alone. */
aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num);

/* The buffer at `index` of the chain, 0 being the head. It stays the chain's, and cannot be freed alone. */
aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf);

#ifdef __cplusplus
}
#endif

#endif
