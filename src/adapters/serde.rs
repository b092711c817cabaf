//! Content, for `serde`: the bytes of a chain, without user area, timestamp or cuts.

use crate::{Mbuf, Pool};
use serde_core::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_core::ser::{Serialize, Serializer};
use std::fmt;

/// As bytes. A chain of several segments is copied into one list for it.
impl Serialize for Mbuf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.segment_count() == 1 {
            return serializer.serialize_bytes(self.data());
        }
        let mut bytes = Vec::with_capacity(self.total_len());
        self.chunks().for_each(|chunk| bytes.extend(chunk));
        serializer.serialize_bytes(&bytes)
    }
}

/// Deserializes bytes, or a sequence of them, into an mbuf of a pool.
///
/// # Example
/// ```
/// use serde_core::de::{DeserializeSeed, value::{BytesDeserializer, Error}};
///
/// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
/// let bytes = BytesDeserializer::<Error>::new(b"content");
/// let mbuf = mbuf::Content::of(&pool).deserialize(bytes)?;
/// assert_eq!(mbuf, b"content");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    pool: &'a Pool,
}

impl<'a> Content<'a> {
    /// What is deserialized is to be `pool`'s.
    pub fn of(pool: &'a Pool) -> Self {
        Self { pool }
    }
}

impl<'de> DeserializeSeed<'de> for Content<'_> {
    type Value = Mbuf;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Mbuf, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl<'de> Visitor<'de> for Content<'_> {
    type Value = Mbuf;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Mbuf, E> {
        let mut mbuf = self.pool.alloc(bytes.len()).map_err(E::custom)?;
        mbuf.extend_from_slice(bytes).map_err(E::custom)?;
        Ok(mbuf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Mbuf, A::Error> {
        // What a stranger says of its length is not to take the pool.
        const FIRST: usize = 4096;
        let first = sequence.size_hint().unwrap_or(0).min(FIRST);
        let mut writer = self
            .pool
            .alloc(first)
            .map_err(A::Error::custom)?
            .into_writer(FIRST);
        while let Some(byte) = sequence.next_element::<u8>()? {
            writer
                .write_bytes(&[byte])
                .map_err(|(_, error)| A::Error::custom(error))?;
        }
        Ok(writer.into_mbuf())
    }
}
