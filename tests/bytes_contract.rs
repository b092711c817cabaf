//! What `bytes` documents of `Buf` and `BufMut`, for every implementation here and for some of its own, which show that the test is right.

#![cfg(all(feature = "bytes", not(any(loom, shuttle))))]

use bytes::{Buf, BufMut, Bytes, BytesMut};
use mbuf::{Mbuf, Pool, Writer};
use proptest::prelude::*;
use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn pool() -> Pool {
    Pool::builder().capacity(16 << 20).build().unwrap()
}

/// A chain of `bytes`, cut into segments of these lengths in turn: some may be 0.
fn chain(pool: &Pool, bytes: &[u8], cuts: &[usize]) -> Mbuf {
    let mut chain = pool.alloc(0).unwrap();
    let mut rest = bytes;
    let mut cuts = cuts.iter().copied().cycle();
    for _ in 0..100 {
        let part = cuts.next().unwrap_or(1).min(rest.len());
        let mut segment = pool.alloc(part).unwrap();
        segment.extend_from_slice(&rest[..part]).unwrap();
        chain.append(segment).unwrap();
        rest = &rest[part..];
    }
    chain.append(pool.wrap(rest.to_vec()).unwrap()).unwrap();
    chain
}

fn panics(act: impl FnOnce()) -> bool {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let panicked = catch_unwind(AssertUnwindSafe(act)).is_err();
    std::panic::set_hook(hook);
    panicked
}

/// `remaining` bytes are left; `chunk` is empty if and only if none are, is a prefix of what is left, and stays as it is until
/// `advance`, which goes on by exactly what it is told. `chunks_vectored` is a prefix, too, and is not empty if something is left.
fn assert_buf(mut buf: impl Buf, content: &[u8], steps: &[usize]) {
    let mut at = 0;
    for step in steps.iter().copied().chain([0, usize::MAX]) {
        let left = &content[at..];
        assert_eq!(buf.remaining(), left.len());
        assert_eq!(buf.has_remaining(), !left.is_empty());
        assert_eq!(buf.chunk().is_empty(), left.is_empty());
        assert!(left.starts_with(buf.chunk()));
        assert_eq!(buf.chunk().as_ptr(), buf.chunk().as_ptr());
        for places in [0, 1, 2, 200] {
            let mut list = vec![IoSlice::new(&[]); places];
            let count = buf.chunks_vectored(&mut list);
            assert!(count <= places);
            let joined: Vec<u8> = list[..count]
                .iter()
                .flat_map(|part| part.to_vec())
                .collect();
            assert!(left.starts_with(&joined));
            assert_eq!(joined.is_empty(), left.is_empty() || places == 0);
        }
        let step = step.min(left.len());
        buf.advance(step);
        at += step;
    }
    assert_eq!(buf.remaining(), 0);
    buf.advance(0);
    assert!(panics(|| buf.advance(1)));
}

/// What the provided methods make of it.
fn assert_reads(make: &mut dyn FnMut() -> Box<dyn Buf>, content: &[u8]) {
    let mut whole = vec![0; content.len()];
    make().copy_to_slice(&mut whole);
    assert_eq!(whole, content);
    assert!(panics(
        || make().copy_to_slice(&mut vec![0; content.len() + 1])
    ));
    assert_eq!(make().copy_to_bytes(content.len()), content);
    assert!(panics(|| drop(make().copy_to_bytes(content.len() + 1))));
    for cut in [0, 1, content.len() / 2] {
        let cut = cut.min(content.len());
        let mut buf = make();
        assert_eq!(buf.copy_to_bytes(cut), content[..cut]);
        assert_eq!(buf.copy_to_bytes(content.len() - cut), content[cut..]);
        assert_eq!(buf.remaining(), 0);
    }
    if let [a, b, c, d, ..] = *content {
        assert_eq!(make().get_u32(), u32::from_be_bytes([a, b, c, d]));
        let mut limited = make().take(3);
        assert_eq!(limited.remaining(), 3);
        limited.advance(3);
        assert_eq!(limited.chunk(), b"");
    }
    let mut joined = make().chain(&b"more"[..]);
    joined.advance(content.len());
    assert_eq!(joined.chunk(), b"more");
}

/// `remaining_mut` bytes at least can be written; `chunk_mut` is empty if and only if that is 0; `advance_mut` makes what was written
/// part of the content, and panics past the room.
fn assert_buf_mut<B: BufMut>(mut buf: B, steps: &[usize], content: impl Fn(&B) -> Vec<u8>) {
    let mut expected = content(&buf);
    for (&step, byte) in steps.iter().zip(1..) {
        let room = buf.remaining_mut();
        assert_eq!(buf.has_remaining_mut(), room > 0);
        let chunk = buf.chunk_mut();
        assert_eq!(chunk.len() == 0, room == 0);
        let step = step.min(chunk.len());
        chunk[..step].copy_from_slice(&vec![byte; step]);
        // SAFETY: so many bytes have just been written.
        unsafe { buf.advance_mut(step) };
        expected.extend(vec![byte; step]);
        assert_eq!(content(&buf), expected);
        let room = buf.remaining_mut().min(10);
        buf.put_slice(&vec![byte; room]);
        expected.extend(vec![byte; room]);
        assert_eq!(content(&buf), expected);
        if buf.remaining_mut() > 0 {
            buf.put_u8(byte);
            expected.push(byte);
        }
    }
    assert_eq!(content(&buf), expected);
    let room = buf.remaining_mut();
    if room < 1 << 20 {
        assert!(panics(|| buf.put_slice(&vec![0; room + 1])));
        // SAFETY: never reached: it is more than there is room for.
        assert!(panics(|| unsafe { buf.advance_mut(room + 1) }));
    }
}

fn bytes_of(mbuf: &Mbuf) -> Vec<u8> {
    mbuf.bytes().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_buf_keeps_the_contract(
        content in prop::collection::vec(any::<u8>(), 0..300),
        cuts in prop::collection::vec(0..7_usize, 1..9),
        steps in prop::collection::vec(0..60_usize, 0..12),
    ) {
        let pool = pool();
        for cuts in [&cuts[..], &[1], &[0, 1], &[1000]] {
            let chain = chain(&pool, &content, cuts);
            assert_buf(chain.cursor(), &content, &steps);
            assert_buf(chain.copy_ref().unwrap(), &content, &steps);
            assert_buf(chain.slice(..).unwrap(), &content, &steps);
            assert_reads(&mut || Box::new(chain.copy_ref().unwrap()), &content);
            let read = |cursor: &mut dyn FnMut() -> Box<dyn Buf>| assert_reads(cursor, &content);
            let leaked: &'static Mbuf = Box::leak(Box::new(chain.copy_ref().unwrap()));
            read(&mut || Box::new(leaked.cursor()));
            assert_buf(chain, &content, &steps);
        }
        // Those of `bytes` itself.
        assert_buf(&content[..], &content, &steps);
        assert_buf(Bytes::from(content.clone()), &content, &steps);
    }

    #[test]
    fn every_buf_mut_keeps_the_contract(
        sizes in prop::collection::vec(0..50_usize, 1..6),
        segment in prop_oneof![Just(1_usize), 1..40_usize],
        steps in prop::collection::vec(0..60_usize, 0..20),
    ) {
        let pool = pool();
        let chain = |pool: &Pool| {
            let mut chain = pool.alloc(sizes[0]).unwrap();
            for &size in &sizes[1..] {
                chain.append(pool.alloc(size).unwrap()).unwrap();
            }
            chain
        };
        assert_buf_mut(chain(&pool), &steps, bytes_of);
        let writer = chain(&pool).into_writer(segment);
        assert_buf_mut(writer, &steps, |writer: &Writer| bytes_of(writer.mbuf()));
        // What is shared, or not ours, has no room.
        let shared = chain(&pool);
        let _copy = shared.copy_ref().unwrap();
        assert_buf_mut(shared, &steps, bytes_of);
        assert_buf_mut(pool.wrap(vec![1, 2]).unwrap(), &steps, bytes_of);
        assert_buf_mut(BytesMut::new(), &steps, |bytes: &BytesMut| bytes.to_vec());
    }
}

#[test]
fn a_writer_without_memory_has_no_room_and_says_why() {
    let pool = Pool::builder().capacity(1).build().unwrap();
    let mut writer = pool.alloc(8).unwrap().into_writer(8);
    let mut taken = Vec::new();
    while let Ok(mbuf) = pool.alloc(8) {
        taken.push(mbuf);
    }
    writer.put_slice(b"12345678");
    assert_eq!(writer.remaining_mut(), 0);
    assert_eq!(writer.chunk_mut().len(), 0);
    assert!(writer.grow().is_err());
    assert_eq!(writer.write_bytes(b"9").unwrap_err().0, 0);
    drop(taken);
    assert!(writer.grow().is_ok());
    assert_eq!(writer.write_bytes(b"9"), Ok(()));
    assert_eq!(writer.into_mbuf(), b"123456789");
}

#[test]
fn bytes_and_mbufs_become_each_other_without_a_copy() {
    let pool = pool();
    let mut mbuf = pool.alloc_zeroed(100).unwrap();
    mbuf.data_mut().unwrap()[99] = 7;
    let address = mbuf.data().as_ptr();
    let bytes = Bytes::try_from(mbuf).unwrap();
    assert_eq!((bytes.as_ptr(), bytes[99]), (address, 7));
    let tail = bytes.slice(90..);
    drop(bytes);
    let back = pool.wrap(tail).unwrap();
    assert_eq!((back.len(), back.data()[9]), (10, 7));
    assert_eq!(
        pool.stats().in_use,
        2,
        "the wrapped bytes' owner, and what they are of"
    );
    drop(back);
    assert_eq!(pool.stats().in_use, 0);

    let mut chain = pool.alloc_zeroed(1).unwrap();
    chain.append(pool.alloc_zeroed(1).unwrap()).unwrap();
    let chain = Bytes::try_from(chain).unwrap_err();
    assert_eq!(chain.segment_count(), 2);
}

#[test]
fn a_writer_has_room_as_long_as_the_pool_has_memory() {
    let pool = pool();
    let mut writer = pool.alloc(0).unwrap().into_writer(1);
    for n in 0..126_u8 {
        assert_eq!(writer.remaining_mut(), 1, "for byte {n}");
        writer.put_u8(n);
    }
    writer.put_u8(126);
    assert_eq!(writer.remaining_mut(), 0, "a chain of 128");
    assert_eq!(writer.grow(), Err(mbuf::WriteError::TooLong));
    assert!(writer.into_mbuf().bytes().eq(0..127));
}
