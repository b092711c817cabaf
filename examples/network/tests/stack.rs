//! smoltcp through mbufs.

use mbuf::{Mbuf, Pool};
use mbuf_network::{SEGMENT, stack};

fn message(pool: &Pool, len: usize) -> Mbuf {
    let mut writer = pool.alloc(100).unwrap().into_writer(SEGMENT);
    writer.extend((0..len).map(|i| (i % 251) as u8));
    writer.finish().unwrap()
}

#[test]
fn a_message_comes_back_by_tcp() {
    let messages = Pool::builder().capacity(16 << 20).build().unwrap();
    let packets = Pool::builder().capacity(1 << 20).build().unwrap();
    for len in [0, 1, 1500, 1 << 20] {
        let message = message(&messages, len);
        let (returned, echoed) = stack::echo(&packets, &message).unwrap();
        assert_eq!(returned, message, "{len} bytes");
        assert_eq!(echoed.bytes, len);
        assert!(echoed.allocs >= 2 * len as u64 / 1500);
        assert_eq!(packets.stats().in_use, 0);
        drop((returned, message));
        assert_eq!(messages.stats().in_use, 0);
    }
}

#[test]
fn packets_wait_while_there_is_no_memory_for_them() {
    let messages = Pool::builder().capacity(16 << 20).build().unwrap();
    let packets = Pool::builder().capacity(1 << 20).build().unwrap();
    let message = message(&messages, 256 << 10);
    // What the sockets need, and a few packets: each one lost costs TCP a pause that grows.
    let needed: Vec<_> = (0..4).map(|_| packets.alloc(64 << 10).unwrap()).collect();
    let few: Vec<_> = (0..8).map(|_| packets.alloc(stack::MTU).unwrap()).collect();
    let mut rest = Vec::new();
    for size in [SEGMENT, 8 << 10, stack::MTU] {
        rest.extend(std::iter::from_fn(|| packets.alloc(size).ok()));
    }
    drop((needed, few));
    let (returned, echoed) = stack::echo(&packets, &message).unwrap();
    assert_eq!(returned, message);
    println!("{echoed}");
    assert!(echoed.refused > 0 && echoed.lost > 0, "{echoed}");
    assert_eq!(packets.stats().in_use, rest.len() as u64);
}
