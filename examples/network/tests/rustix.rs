//! `readv`, `writev` and `pread` of rustix, on chains.

use mbuf::{Mbuf, Pool};
use std::io::IoSlice;

fn chain(pool: &Pool, parts: &[&[u8]]) -> Mbuf {
    let mut chain = pool.alloc(0).unwrap();
    for part in parts {
        let mut segment = pool.alloc(part.len()).unwrap();
        segment.extend_from_slice(part).unwrap();
        chain.append(segment).unwrap();
    }
    chain
}

#[test]
fn chains_go_through_a_pipe() {
    let pool = Pool::builder().capacity(16 << 20).build().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut sent = chain(&pool, &[b"", b"a", b"", b"message", b" of parts"]);
    let mut calls = 0;
    while sent.total_len() > 0 {
        // Made anew: a list borrows the chain for as long as it may be used.
        let mut list = [IoSlice::new(&[]); 2];
        let count = sent.io_slices(&mut list);
        let written = rustix::io::writev(&writer, &list[..count]).unwrap();
        sent.advance(written).unwrap();
        calls += 1;
    }
    assert_eq!(calls, 2, "three segments with data, by two");

    let mut got = pool.alloc_zeroed(3).unwrap();
    got.append(pool.alloc_zeroed(100).unwrap()).unwrap();
    let mut list = got.io_slices_mut().unwrap();
    let read = rustix::io::readv(&reader, &mut list).unwrap();
    got.truncate(read);
    assert_eq!(got, b"amessage of parts");
    assert_eq!(got.segment_count(), 2);
}
