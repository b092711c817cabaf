/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The eleven functions as a library has them that does not support them: each says so.
 */
#include "acl_mbuf.h"

/* The vendor's ACL_ERROR_RT_FEATURE_NOT_SUPPORT. */
enum { NOT_SUPPORTED = 207000 };

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size)
{
    (void)buf;
    (void)size;
    return NOT_SUPPORTED;
}

aclError aclrtFreeBuf(aclrtMbuf buf)
{
    (void)buf;
    return NOT_SUPPORTED;
}

aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len)
{
    (void)buf;
    (void)len;
    return NOT_SUPPORTED;
}

aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len)
{
    (void)buf;
    (void)len;
    return NOT_SUPPORTED;
}

aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size)
{
    (void)buf;
    (void)dataPtr;
    (void)size;
    return NOT_SUPPORTED;
}

aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset)
{
    (void)buf;
    (void)dataPtr;
    (void)size;
    (void)offset;
    return NOT_SUPPORTED;
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    (void)buf;
    (void)dataPtr;
    (void)size;
    (void)offset;
    return NOT_SUPPORTED;
}

aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf)
{
    (void)buf;
    (void)newBuf;
    return NOT_SUPPORTED;
}

aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf)
{
    (void)headBuf;
    (void)buf;
    return NOT_SUPPORTED;
}

aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num)
{
    (void)headBuf;
    (void)num;
    return NOT_SUPPORTED;
}

aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf)
{
    (void)headBuf;
    (void)index;
    (void)buf;
    return NOT_SUPPORTED;
}
