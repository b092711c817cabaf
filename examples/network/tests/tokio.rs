//! What tokio's adapters for `Buf` and `BufMut` make of chains and writers.

use bytes::Buf;
use mbuf::{Mbuf, Pool, WriteError};
use std::future::Future;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn pool() -> Pool {
    Pool::builder().capacity(16 << 20).build().unwrap()
}

/// Segments of these lengths, with the content `0, 1, 2, …`.
fn chain(pool: &Pool, lens: &[usize]) -> Mbuf {
    let mut next = 0_u8;
    let mut chain: Option<Mbuf> = None;
    for &len in lens {
        let mut segment = pool.alloc(len).unwrap();
        for _ in 0..len {
            segment.extend_from_slice(&[next]).unwrap();
            next = next.wrapping_add(1);
        }
        match &mut chain {
            None => chain = Some(segment),
            Some(chain) => chain.append(segment).unwrap(),
        }
    }
    chain.unwrap()
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|i| i as u8).collect()
}

fn run(task: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(task);
}

const SHAPES: [&[usize]; 7] = [
    &[0],
    &[0, 0, 0],
    &[1],
    &[0, 1, 0, 1, 1, 0],
    &[5, 0, 1, 70, 1, 0, 3],
    &[300, 0],
    &[1; 128],
];

#[test]
fn chains_are_written_whole() {
    run(async {
        let pool = pool();
        for shape in SHAPES {
            let expected = content(shape.iter().sum());
            let mut out = Vec::new();
            let mut chain = chain(&pool, shape);
            out.write_all_buf(&mut chain.cursor()).await.unwrap();
            assert_eq!(out, expected, "{shape:?}: a cursor leaves the chain");
            out.clear();
            out.write_all_buf(&mut chain).await.unwrap();
            assert_eq!(out, expected, "{shape:?}");
            assert_eq!(chain.remaining(), 0);
            // Without anything to write nothing is cut off.
            let left = if expected.is_empty() { shape.len() } else { 1 };
            assert_eq!(chain.segment_count(), left);
        }
        assert_eq!(pool.stats().in_use, 0);
    });
}

#[test]
fn chains_are_written_in_parts() {
    run(async {
        let pool = pool();
        for shape in SHAPES {
            let len = shape.iter().sum();
            // A pipe that takes three bytes at a time.
            let (mut near, mut far) = tokio::io::duplex(3);
            let mut chain = chain(&pool, shape);
            let mut out = Vec::new();
            let send = async {
                let mut written = 0;
                while chain.has_remaining() {
                    let n = near.write_buf(&mut chain).await.unwrap();
                    assert!((1..=3).contains(&n));
                    written += n;
                    assert_eq!(chain.remaining(), len - written);
                }
                assert_eq!(near.write_buf(&mut chain).await.unwrap(), 0);
                drop(near);
            };
            let (_, read) = tokio::join!(send, far.read_to_end(&mut out));
            read.unwrap();
            assert_eq!(out, content(len), "{shape:?}");
        }
        assert_eq!(pool.stats().in_use, 0);
    });
}

#[test]
fn an_mbuf_is_read_into_up_to_its_room() {
    run(async {
        let pool = pool();
        let content = content(100);
        let mut source = &content[..];
        let mut chain = chain(&pool, &[5, 0]);
        chain.append(pool.alloc(60).unwrap()).unwrap();
        assert_eq!(source.read_buf(&mut chain).await.unwrap(), 60);
        assert_eq!(
            source.read_buf(&mut chain).await.unwrap(),
            0,
            "no room, not the end"
        );
        assert_eq!(source.len(), 40);
        assert!(chain.bytes().skip(5).eq(content[..60].iter().copied()));
    });
}

#[test]
fn a_writer_is_read_into_to_the_end() {
    run(async {
        let pool = pool();
        for (segment, len) in [(1, 100), (7, 0), (7, 1), (7, 7), (7, 700), (4096, 100_000)] {
            let content = content(len);
            let mut writer = pool.alloc(0).unwrap().into_writer(segment);
            let (mut near, mut far) = tokio::io::duplex(64);
            let write = async {
                near.write_all(&content).await.unwrap();
                drop(near);
            };
            let read = async { while far.read_buf(&mut writer).await.unwrap() > 0 {} };
            tokio::join!(write, read);
            assert_eq!(writer.into_mbuf(), content, "{len} bytes by {segment}");
        }
        assert_eq!(pool.stats().in_use, 0);
    });
}

/// `read_buf` says 0 then, as at the end: `Writer::grow` tells them apart. Nothing of the source is lost.
#[test]
fn a_writer_without_memory_looks_like_the_end_but_says_why() {
    run(async {
        let pool = Pool::builder().capacity(1).build().unwrap();
        let mut writer = pool.alloc(8).unwrap().into_writer(8);
        let mut taken = Vec::new();
        while let Ok(mbuf) = pool.alloc(8) {
            taken.push(mbuf);
        }
        let content = content(100);
        let mut source = &content[..];
        assert_eq!(source.read_buf(&mut writer).await.unwrap(), 8);
        assert_eq!(source.read_buf(&mut writer).await.unwrap(), 0);
        let why = writer.grow().unwrap_err();
        assert!(matches!(
            why,
            WriteError::Alloc(mbuf::AllocError::Exhausted)
        ));
        drop(taken);
        loop {
            writer.grow().unwrap();
            if source.read_buf(&mut writer).await.unwrap() == 0 {
                break;
            }
        }
        assert_eq!(writer.into_mbuf(), content);
    });
}
